/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted provider. The test queues what the libraries would report, and the provider records
 * the calls. It enforces the rules of the libraries (QP states and their attributes, queue depths,
 * CQ capacity, keys, order of teardown): it refuses a call that breaks a rule with the library's
 * error, and records the breach for fake_misuse().
 *
 * With fake_loopback() listeners and connections of one program find each other, and work requests
 * move the bytes.
 *
 * Any thread (one lock inside), except for the members of struct fake_device.
 */
#ifndef VBD_TESTS_FAKE_PROVIDER_FAKE_H
#define VBD_TESTS_FAKE_PROVIDER_FAKE_H

#include "base/list.h"
#include "rdma/provider/ask.h"
#include "rdma/provider/provider.h"

#include <netinet/in.h>

/** fake_reset - restore the initial state; frees all objects left */
void fake_reset(void);

/* Objects that the provider has created and not yet destroyed. */
struct fake_live {
	unsigned int contexts, pds, mrs, mws, comp_channels, cqs, srqs, qps, ahs, event_channels,
		ids;
};

struct fake_live fake_live(void);

/** fake_live_total - the sum of all members and of the types in accounts: 0 if nothing leaked */
unsigned int fake_live_total(void);

/** fake_leak_mrs - make the kernel's account show so many more MRs */
void fake_leak_mrs(unsigned int count);

/** fake_misuse - the first breach of the libraries' rules; NULL if none */
const char *fake_misuse(void);

/* Calls, by the names of the libraries ("ibv_create_qp"). */

/** fake_record_calls - whether calls are recorded, as they are without this; a program that runs
 * for long would need ever more memory for them */
void fake_record_calls(bool on);

/** fake_count - number of recorded calls of @call, including failed ones */
unsigned int fake_count(const char *call);

/** fake_first - position of the first call of @call among all calls; -1 if there is none */
long fake_first(const char *call);
long fake_last(const char *call);

/**
 * fake_fail_nth - make the @nth call from now (1 is the next) that can fail do so once, with
 * @errnum; 0 for none
 */
void fake_fail_nth(unsigned int nth, int errnum);

/** fake_fail_next - make the next call of this name fail once; errnum 0 to cancel */
void fake_fail_next(const char *call, int errnum);

/**
 * fake_objects_full - from now on no object can be made beyond those that there are, as at the
 * limit of the rdma controller of cgroups; false: there is no limit
 *
 * Of the objects that the kernel counts there as hca_object: PDs, MRs, MWs, CQs, SRQs, queue pairs
 * and address handles. A call that would make another one fails with EAGAIN.
 */
void fake_objects_full(bool full);

/** fake_fail_post - the @nth (from 1) work request posted from now on is refused with EIO, and
 * those behind it in its chain are not posted; 0: none is */
void fake_fail_post(unsigned int nth);

/** fake_failed_call - name of the call that fake_fail_nth() made fail; NULL if none */
const char *fake_failed_call(void);

/**
 * fake_block - from now on calls of this name do not return, as when another host is silent
 *
 * Until fake_unblock(), or until a signal interrupts the call, which fails then with EINTR. Only
 * for calls that the real provider says may block; on the control thread each of them is a misuse.
 */
void fake_block(const char *call);

/** fake_block_one - the same, but one such call at a time: the others return */
void fake_block_one(const char *call);

/** fake_on_control - how often the control thread has registered memory */
unsigned int fake_on_control(void);

/** fake_lose_neighbours - the kernel forgets all hardware addresses, as after `ip neigh flush` */
void fake_lose_neighbours(void);

/** fake_one_thread - until fake_reset() this thread may call what may block: it controls nothing */
void fake_one_thread(void);

/** fake_ignore_interrupts - the next @count signals do not wake a blocked call */
void fake_ignore_interrupts(unsigned int count);

/** fake_ignores_interrupts - how many of these are still to come */
unsigned int fake_ignores_interrupts(void);

/** fake_unblock - let the blocked calls return, and block no more */
void fake_unblock(void);

/** fake_blocked - number of calls that are blocked now */
unsigned int fake_blocked(void);

/** fake_memory_fail_nth - make the @nth allocation from now fail once; 0 for none */
void fake_memory_fail_nth(unsigned int nth);

/** fake_memory_failed - whether that allocation has failed */
bool fake_memory_failed(void);

/** fake_memory_lend_huge - whether private huge pages are mapped on any host, as small ones */
void fake_memory_lend_huge(bool lends);

/* Devices. A test may change the members while no other thread runs. */

/* More than one call of the kernel answers with. */
#define FAKE_GIDS 3000

struct fake_device {
	struct vbd_link link;
	bool plugged;		     /* in the list of ibv_get_device_list(3) */
	struct ibv_device ibv;	     /* name, dev_name ("uverbs0"), transport_type */
	const char *new_name;	     /* that the kernel gave it since; NULL: none */
	struct ibv_device_attr attr; /* orig_attr of ibv_query_device_ex(3) */
	struct ibv_odp_caps odp_caps;
	struct ibv_cq_moderation_caps cq_mod_caps;
	bool resizes_cqs;
	struct ibv_port_attr port; /* number of GIDs of each port */
	struct ibv_gid_entry gids[FAKE_GIDS];
	size_t gid_count;
	struct sockaddr_in addr; /* index of its network interface; port 0 */
	int open_errno;		 /* not 0: opening fails with it */
	unsigned int contexts;	 /* number of open contexts */
	unsigned int ids;	 /* number of CM ids bound to it */
};

/**
 * fake_device_add - add a RoCE device with one active port, 10.0.0.1 for the first one, and with a
 * new uverbs number
 */
struct fake_device *fake_device_add(const char *name);

/** fake_device_unplug - remove a device from the list; open contexts stay open */
void fake_device_unplug(struct fake_device *device);

/** fake_device_cm_removal - queue DEVICE_REMOVAL for every CM id bound to the device */
void fake_device_cm_removal(struct fake_device *device);

/**
 * fake_device_let_go - whether the kernel could finish the removal: no open context, no bound id
 */
bool fake_device_let_go(const struct fake_device *device);

/** fake_netroute - set the result of vbd_pv_find_netroute(); before, every address is local */
void fake_netroute(const struct vbd_pv_netroute *netroute);

/** fake_questions - questions to the verbsd of peers that have left */
unsigned int fake_questions(void);

/** fake_peers_mute - whether such questions get no answer from now on */
void fake_peers_mute(bool mute);

/** fake_device_async - queue an async event of the device, or of its port @port_num */
void fake_device_async(struct fake_device *device, enum ibv_event_type type, int port_num);

/** fake_qp_async - queue an async event of a QP */
void fake_qp_async(struct ibv_qp *qp, enum ibv_event_type type);

/* The connection manager. */

/** fake_cm_event - queue an event for @id */
void fake_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status);

/**
 * fake_cm_event_with - queue an event for @id with the connection parameters and private data of
 * @event
 */
void fake_cm_event_with(struct rdma_cm_id *id, const struct vbd_pv_cm_event *event);

/**
 * fake_addr_resolved - queue ADDR_RESOLVED and bind @id to @device (NULL: to none, as for a node
 * GUID of 0)
 */
void fake_addr_resolved(struct rdma_cm_id *id, struct fake_device *device);

/**
 * fake_connect_response - queue CONNECT_RESPONSE of a peer with QP 0x77 and 16 reads each way; on
 * iWARP ESTABLISHED
 */
void fake_connect_response(struct rdma_cm_id *id);

/**
 * fake_connect_request - queue a connection request on @device for @listener
 *
 * Returns the new id. It lives until it is destroyed, or until its listener is destroyed before the
 * event was taken.
 */
struct rdma_cm_id *fake_connect_request(struct rdma_cm_id *listener, struct fake_device *device);

/** fake_id_listening - the id that listens on @port (host order); NULL if none */
struct rdma_cm_id *fake_id_listening(uint16_t port);

/* The parameters of the last calls for an id; -1 where there was none. */
struct fake_id_asked {
	int ack_timeout, tos, reuse_addr, v6_only, backlog, resolve_timeout_ms;
	struct rdma_conn_param param;		      /* of connect or accept */
	uint8_t private_data[VBD_PRIVATE_DATA_BYTES]; /* of connect, accept or reject */
	uint8_t private_data_bytes;
	bool vendor_option; /* reason of rdma_reject() */
	bool connected, accepted, rejected, established, disconnected, notified;
	bool joined, send_only; /* a multicast group */
};

struct fake_id_asked fake_id_asked(const struct rdma_cm_id *id);

/* Datagrams. */

/**
 * fake_sidr_answer - queue ESTABLISHED: the peer's QP is @qpn, its qkey VBD_CM_QKEY, its private
 * data "yes"
 */
void fake_sidr_answer(struct rdma_cm_id *id, uint32_t qpn);

/** fake_multicast_joined - queue MULTICAST_JOIN: the group is ff0e::1, its LID 0xc001 */
void fake_multicast_joined(struct rdma_cm_id *id);

/** fake_id_latest - the id created last; NULL if none */
struct rdma_cm_id *fake_id_latest(void);

/** fake_attached - number of groups that @qp is attached to */
unsigned int fake_attached(struct ibv_qp *qp);

/* The attributes of an address handle. */
struct ibv_ah_attr fake_ah_attr(const struct ibv_ah *ah);

/** fake_datagram - deliver a message of QP @src_qp at 10.0.0.99 to the oldest receive of @qp */
void fake_datagram(struct ibv_qp *qp, uint32_t src_qp, const void *data, uint32_t length_bytes);

/* Work requests. */

#define FAKE_SGES 64

struct fake_wr {
	struct vbd_link link;
	uint64_t wr_id;
	bool recv;
	bool shared; /* posted to an SRQ */
	enum ibv_wr_opcode opcode;
	unsigned int send_flags;
	uint32_t length_bytes; /* sum over all ranges */
	struct ibv_sge sges[FAKE_SGES];
	int sge_count;
	uint8_t *addr; /* of the first range; NULL if there is none */
	uint32_t lkey; /* of the first range */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm_data; /* in network byte order */
	uint64_t compare_add, swap;
	struct ibv_ah *ah; /* UD only, like the next two members */
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint8_t inlined[1024];
	/* a bind, or with mw NULL an invalidation */
	struct ibv_mw *mw;
	struct ibv_mw_bind_info bind;
	uint32_t new_rkey;
};

/** fake_wr_gather - copy the bytes of the ranges, or the inline bytes, to @to */
void fake_wr_gather(const struct fake_wr *wr, uint8_t *to);

/** fake_wr_scatter - copy bytes into the ranges, starting with the first */
void fake_wr_scatter(const struct fake_wr *wr, const uint8_t *from, uint32_t length_bytes);

/** fake_sends - number of outstanding sends on @qp, including writes and reads */
unsigned int fake_sends(struct ibv_qp *qp);
unsigned int fake_recvs(struct ibv_qp *qp);

/** fake_send_at - the @i-th oldest outstanding send; ends the program if there is none */
struct fake_wr fake_send_at(struct ibv_qp *qp, unsigned int i);

/** fake_recv_at - the @i-th oldest outstanding receive; ends the program if there is none */
struct fake_wr fake_recv_at(struct ibv_qp *qp, unsigned int i);

/** fake_send_done - complete the oldest send successfully */
void fake_send_done(struct ibv_qp *qp);

/** fake_sends_done - complete the @n oldest sends successfully */
void fake_sends_done(struct ibv_qp *qp, unsigned int n);

/**
 * fake_send_failed - complete the oldest send with an error; the QP goes to ERR and flushes the
 * rest
 */
void fake_send_failed(struct ibv_qp *qp, enum ibv_wc_status status, uint32_t vendor_err);

/** fake_recv_done - deliver a message of @length_bytes to the oldest receive */
void fake_recv_done(struct ibv_qp *qp, const void *data, uint32_t length_bytes);

/**
 * fake_recv_done_imm - deliver a message with immediate data; with IBV_WC_RECV_RDMA_WITH_IMM as
 * @opcode a write of @length_bytes elsewhere, and @data is ignored
 */
void fake_recv_done_imm(struct ibv_qp *qp, enum ibv_wc_opcode opcode, const void *data,
	uint32_t length_bytes, uint32_t imm);

/** fake_recv_failed - complete the oldest receive with an error, like fake_send_failed() */
void fake_recv_failed(struct ibv_qp *qp, enum ibv_wc_status status, uint32_t vendor_err);

/** fake_qp_to_err - move the QP to ERR, as a device does by itself */
void fake_qp_to_err(struct ibv_qp *qp);

/** fake_qp_draining - set the sq_draining of a QP in SQD */
void fake_qp_draining(struct ibv_qp *qp, bool draining);

/**
 * fake_flushes_withheld - QPs in ERR keep their work requests, as rxe does when its task is stuck
 */
void fake_flushes_withheld(bool withheld);

/** fake_polls_stalled - a thread that polls a CQ does not come back, as in a driver that spins */
void fake_polls_stalled(bool stalled);

/** fake_poll_is_stalled - has a thread been caught so? */
bool fake_poll_is_stalled(void);

/** fake_receives_optional - allow accepting with a QP without receives (service none) */
void fake_receives_optional(bool optional);

/** fake_flush - flush the withheld work requests */
void fake_flush(struct ibv_qp *qp);

/** fake_srq_recvs - number of receives posted in @srq */
unsigned int fake_srq_recvs(struct ibv_srq *srq);

/** fake_srq_limit - the armed limit; 0 if not armed */
uint32_t fake_srq_limit(struct ibv_srq *srq);

/** fake_cq_moderation - the moderation set last; 0 and 0 if none */
void fake_cq_moderation(struct ibv_cq *cq, uint16_t *ret_count, uint16_t *ret_period_us);

/** fake_cq_push - add a completion that belongs to no work request */
void fake_cq_push(struct ibv_cq *cq, const struct ibv_wc *wc);

/** fake_cq_overrun - queue @times CQ_ERR, as for completions that found no room in @cq */
void fake_cq_overrun(struct ibv_cq *cq, unsigned int times);

/** fake_cq_high_water - the largest number of completions that waited in @cq */
unsigned int fake_cq_high_water(struct ibv_cq *cq);

/** fake_unanswered - from now on no peer answers a disconnect */
void fake_unanswered(bool on);

/** fake_loopback - from now on ids connect to each other and work requests move bytes */
void fake_loopback(bool on);

/** fake_witness - append the bytes of each message that is delivered to the file @path, which
 * outlives the program however that ends; NULL: nowhere */
void fake_witness(const char *path);

#endif
