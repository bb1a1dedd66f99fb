/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the files of the fake provider.
 *
 * Callers hold the lock, except for fake_lock(), and for fake_abort(), which does not return.
 */
#ifndef VBD_TESTS_FAKE_FAKE_H
#define VBD_TESTS_FAKE_FAKE_H

#include "rdma/provider/ask.h"
#include "rdma/provider/faults.h"
#include "tests/fake/provider_fake.h"
#include "tests/fake/waits.h"

struct fake_context {
	struct ibv_context ibv;
	struct vbd_link link;
	struct fake_device *device;
	struct vbd_link async_events;
	unsigned int children; /* number of PDs, CQs and completion channels */
};

struct fake_pd {
	struct ibv_pd ibv;
	struct vbd_link link;
	struct fake_context *context;
	unsigned int children; /* number of MRs and QPs */
};

struct fake_mr {
	struct ibv_mr ibv;
	struct vbd_link link;
	struct fake_pd *pd;
	int access;
	unsigned int windows; /* number of windows bound to it */
};

struct fake_mw {
	struct ibv_mw ibv;
	struct vbd_link link;
	struct fake_pd *pd;
	/* set while it is bound */
	struct fake_mr *mr;
	struct fake_qp *qp; /* type 2 only */
	uint64_t addr, length_bytes;
	int access;
};

struct fake_comp_channel {
	struct ibv_comp_channel ibv;
	struct vbd_link link;
	struct fake_context *context;
	unsigned int children; /* number of CQs */
};

struct fake_cq {
	struct ibv_cq ibv;
	struct vbd_link link;
	struct fake_context *context;
	struct fake_comp_channel *comp_channel;
	unsigned int qps;
	bool armed;
	unsigned int events; /* number of events in the channel */
	struct ibv_wc *wcs;
	unsigned int first, count, room, high_water;
	uint16_t moderation_count, moderation_period_us;
};

struct fake_srq {
	struct ibv_srq ibv;
	struct vbd_link link;
	struct fake_pd *pd;
	uint32_t max_wr, limit;
	struct vbd_link recvs;
	unsigned int recv_count;
	unsigned int qps;
};

struct fake_qp {
	struct ibv_qp ibv;
	struct fake_srq *srq;
	struct vbd_link link;
	struct fake_pd *pd;
	struct fake_cq *send_cq, *recv_cq;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr; /* values set by modify */
	struct vbd_link sends, recvs;
	unsigned int send_count, recv_count;
	unsigned int groups; /* number of groups that it is attached to */
};

struct fake_ah {
	struct ibv_ah ibv;
	struct vbd_link link;
	struct fake_pd *pd;
	struct ibv_ah_attr attr;
};

enum fake_id_state {
	FAKE_ID_IDLE,
	FAKE_ID_BOUND,
	FAKE_ID_LISTENING,
	FAKE_ID_ADDR_RESOLVED,
	FAKE_ID_ROUTE_RESOLVED,
	FAKE_ID_CONNECTING, /* the request was sent */
	FAKE_ID_REQUESTED,  /* passive side: a request came in */
	FAKE_ID_ACCEPTED,   /* passive side: accepted */
	FAKE_ID_CONNECTED,
	FAKE_ID_OVER, /* disconnected, rejected or failed */
};

struct fake_id {
	struct rdma_cm_id ibv;
	struct vbd_link link;
	enum fake_id_state state;
	struct fake_device *device;
	bool known;	       /* the caller has it, so it counts as live */
	bool peer_known;       /* the peer's parameters have arrived */
	bool parted;	       /* DISCONNECTED is queued or was taken */
	enum ibv_mtu path_mtu; /* that of the port which sent the request */
	uint8_t peer_responder_resources;
	uint32_t peer_qpn;
	struct fake_id *peer;	/* loopback */
	struct vbd_pv_ask *ask; /* the request is a question of fake_ask.c */
	struct fake_id_asked asked;
};

struct fake_event_channel {
	struct rdma_event_channel ibv;
	struct vbd_link link;
	struct vbd_link events;
};

struct fake {
	struct vbd_link devices, contexts, pds, mrs, mws, comp_channels, cqs, srqs, qps, ahs,
		event_channels, ids;
	struct fake_live live;
	const char **calls;
	size_t call_count, call_room;
	bool records_nothing;
	unsigned int fail_nth;
	int fail_nth_errno;
	const char *fail_call;
	int fail_call_errno;
	unsigned int fail_post;
	unsigned int objects_max; /* 0: no limit */
	const char *failed_call;
	char misuse[200];
	unsigned int devices_made;
	uint32_t last_key, last_qpn;
	uint16_t last_port;
	unsigned int lost_mrs;
	bool withhold_flushes;
	bool receives_optional;
	bool unanswered;
	bool loopback;
	unsigned int on_control;
	bool one_thread;	     /* the control thread may make calls that may block */
	union ibv_gid neighbours[8]; /* their hardware addresses are known */
	unsigned int neighbour_count;
	bool neighbours_lost; /* since vbd_pv_neighbours_lost() was asked */
	bool netroute_set;
	struct vbd_pv_netroute netroute;
	unsigned int questions; /* that have left */
	bool peers_mute;	/* questions get no answer */
};

extern struct fake g_fake;

void fake_lock(void);
void fake_unlock(void);

/** fake_ask_replied - a question was rejected with this private data */
void fake_ask_replied(struct vbd_pv_ask *ask, const uint8_t *bytes, uint8_t count);

/** fake_note - record a call that can't fail */
void fake_note(const char *call);

/** fake_enter - record a call; returns 0, or the errno that the script has for it */
int fake_enter(const char *call);

/** fake_call - the same for a call of the provider, which a fault of a client may fail as well */
int fake_call(enum vbd_pv_call call);

/* tests/daemon/waits.mjs makes each of these calls block. */
enum fake_wait { VBD_WAIT_MAP(VBD_ENUM_ROW) FAKE_WAIT_COUNT };

/**
 * fake_may_block - the beginning of a call that may wait: it must not be on the control thread
 *
 * The caller does not hold the lock. Blocks if the test says so; then returns 0, or EINTR after a
 * signal.
 */
int fake_may_block(enum fake_wait wait);

/** fake_must_leave_control - the same, but the call returns: the test blocks a later one. Returns 0
 */
int fake_must_leave_control(enum fake_wait wait);

/** fake_resolve_neighbour - fake_may_block(), but the control thread may make the call if the
 * address of @gid is known */
int fake_resolve_neighbour(enum fake_wait wait, const union ibv_gid *gid);

/** fake_neighbour_resolved - with the lock; the address of @gid is known from now on */
void fake_neighbour_resolved(const union ibv_gid *gid);

/** fake_off_control - the beginning of a call that waits only for other hosts that have the key of
 * the memory: the control thread may make it for other memory, which the fake does not tell apart
 */
void fake_off_control(enum fake_wait wait);

/** fake_takes_long - the same for a call that takes as long as @size_bytes are many: on the control
 * thread it must work on 64 KiB at most; fake_on_control() counts it */
int fake_takes_long(enum fake_wait wait, size_t size_bytes);

/** fake_result - VBD_OK for errnum 0, else the error of the real provider */
enum vbd_status fake_result(enum vbd_pv_call call, int errnum, struct vbd_error *err);

/** fake_broken - record a breach of the libraries' rules */
void fake_broken(const char *fmt, ...) VBD_PRINTF(1, 2);

/** fake_abort - end the program: the test itself is wrong */
_Noreturn void fake_abort(const char *what);

/* Allocates without scripted failures; never NULL. */
void *fake_allocate(size_t len_bytes);
void *fake_grow(void *old, size_t len_bytes);

int fake_eventfd(int flags);
void fake_fd_raise(int fd);
void fake_fd_lower(int fd);

struct fake_device *fake_device_find(const char *name);
void fake_async_push(
	struct fake_device *device, enum ibv_event_type type, struct ibv_qp *qp, int port_num);
/** fake_async_push_to - queue an event for each context of @device */
void fake_async_push_to(struct fake_device *device, const struct vbd_pv_async_event *event);
/** fake_async_remove - remove the events of a QP that is being destroyed */
void fake_async_remove(const struct ibv_qp *qp);

/* The data path. */
void fake_data_reset(void);
/** fake_qp_recv - the receive for the next message; NULL if none is posted */
struct fake_wr *fake_qp_recv(struct fake_qp *qp);
/** fake_srq_taken - count one receive of the SRQ as used */
void fake_srq_taken(struct fake_srq *srq);
/** fake_sges_covered - check that the ranges are registered in @pd; records a breach otherwise */
bool fake_sges_covered(const struct fake_pd *pd, const struct fake_wr *wr);
/** fake_wr_take_sges - copy the ranges into the work request, at most @max */
void fake_wr_take_sges(struct fake_wr *wr, const struct ibv_sge *sges, int count, uint32_t max);
void fake_srq_reset(void);
struct fake_qp *fake_qp_by_number(uint32_t qp_num);
const char *fake_qp_modify(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask);
/** fake_qp_set_state - change the QP's state; ERR also flushes its work */
void fake_qp_set_state(struct fake_qp *qp, enum ibv_qp_state state);
/**
 * fake_complete - remove @wr from @qp and add its completion to the CQ; an error flushes the rest
 */
void fake_complete(struct fake_qp *qp, struct fake_wr *wr, enum ibv_wc_status status,
	uint32_t vendor_err, uint32_t byte_len);
/** fake_deliver - complete a receive with @opcode, and with @imm_data if @has_imm */
void fake_deliver(struct fake_qp *qp, struct fake_wr *wr, enum ibv_wc_opcode opcode,
	uint32_t byte_len, bool has_imm, uint32_t imm_data);
/** fake_deliver_from - complete a receive with a datagram of @src_qp, with a global route header */
void fake_deliver_from(struct fake_qp *qp, struct fake_wr *wr, uint32_t byte_len, uint32_t src_qp);
const struct fake_mr *fake_mr_by_key(
	const struct fake_pd *pd, uint32_t key, bool remote, uint64_t addr, uint32_t length_bytes);

/* Datagrams. */
void fake_ud_reset(void);
bool fake_id_is_ud(const struct fake_id *id);
/** fake_ud_answer - send the id's QP to its peer, and disconnect the two */
void fake_ud_answer(struct fake_id *id);
/**
 * fake_ud_send - deliver a completed datagram to the QPs with its number, or its group, and its
 * qkey
 */
void fake_ud_send(struct fake_qp *qp, struct fake_wr *wr);
/**
 * fake_mw_access - the access that a window of @qp's PD with this key grants; 0 if the range is not
 * inside, -1 if there is no such window
 */
int fake_mw_access(const struct fake_qp *qp, uint32_t key, uint64_t addr, uint32_t length_bytes);
bool fake_is_window_work(const struct fake_wr *wr);
/** fake_mw_completed - apply a bind or an invalidation that has completed */
void fake_mw_completed(struct fake_qp *qp, const struct fake_wr *wr);
/** fake_mw_qp_destroyed - record a breach if windows are still bound on the QP */
void fake_mw_qp_destroyed(const struct fake_qp *qp);
void fake_mw_reset(void);

/* The connection manager. */
void fake_cm_reset(void);
/**
 * fake_event_set_private_data - set private data as the CM delivers it: padded with zeros, except
 * on iWARP
 */
void fake_event_set_private_data(struct vbd_pv_cm_event *event, const struct fake_id *to,
	const void *data, uint8_t data_bytes);
void fake_id_bind(struct fake_id *id, struct fake_device *device);
void fake_event_push(struct fake_id *id, const struct vbd_pv_cm_event *event);
void fake_event_push_plain(struct fake_id *id, enum rdma_cm_event_type type, int status);
struct fake_id *fake_request_push(struct fake_id *listener, struct fake_device *device,
	const struct sockaddr *local, const struct sockaddr *peer,
	const struct rdma_conn_param *param);
struct fake_id *fake_listener_on(const struct sockaddr *addr);

/* Loopback: the peer's reaction. */
void fake_loop_resolve_addr(struct fake_id *id);
void fake_loop_resolve_route(struct fake_id *id);
void fake_loop_connect(struct fake_id *id);
void fake_loop_accept(struct fake_id *id);
void fake_loop_reject(struct fake_id *id);
void fake_loop_establish(struct fake_id *id);
void fake_loop_gone(struct fake_id *id); /* disconnected or destroyed */
/** fake_loop_pump - execute the QP's sends as far as possible */
void fake_loop_pump(struct fake_qp *qp);
/** fake_loop_ready - after a change of the QP or new receives: continue the peer's sends */
void fake_loop_ready(struct fake_qp *qp);

#endif
