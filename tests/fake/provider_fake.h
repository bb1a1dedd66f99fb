/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted provider: what the libraries would report is queued by the test, what they are asked
 * to do is recorded. It holds the caller to the libraries' rules (QP states and their attributes,
 * queue depths, CQ capacity, keys, order of teardown): what breaks one is refused as the library
 * would, and remembered in fake_misuse().
 *
 * With fake_loopback() it goes further: listeners and connections of one program find each other,
 * and work requests move the bytes.
 *
 * Any thread (one lock inside), but for the members of struct fake_device.
 */
#ifndef VBD_TESTS_FAKE_PROVIDER_FAKE_H
#define VBD_TESTS_FAKE_PROVIDER_FAKE_H

#include "base/list.h"
#include "rdma/provider.h"
#include "rdma/netroute.h"

#include <netinet/in.h>

/** fake_reset - as if nothing had ever been called; frees what is left over */
void fake_reset(void);

/* What the provider has given out and not taken back. */
struct fake_live {
	unsigned int contexts, pds, mrs, mws, comp_channels, cqs, srqs, qps, ahs, event_channels,
		ids;
};

struct fake_live fake_live(void);

/** fake_live_total - the sum of them, and the types that accounts hold: 0 when nothing leaked */
unsigned int fake_live_total(void);

/** fake_lose_mrs - the kernel holds so many more than were asked for */
void fake_lose_mrs(unsigned int count);

/** fake_misuse - the first breach of the libraries' rules; NULL if there was none */
const char *fake_misuse(void);

/* Calls, by the names of the libraries ("ibv_create_qp"). */

/** fake_count - how often @call was made, failed ones too */
unsigned int fake_count(const char *call);

/** fake_first - when @call was first made, as a position among all calls; -1 if never */
long fake_first(const char *call);
long fake_last(const char *call);

/** fake_fail_nth - the @nth call from now (1 is the next) that can fail does, with @errnum; once. 0
 * for none. */
void fake_fail_nth(unsigned int nth, int errnum);

/** fake_fail_next - the next call of this name fails; once. 0 for not any more. */
void fake_fail_next(const char *call, int errnum);

/** fake_failed_call - the name of the call that fake_fail_nth() failed; NULL if it was not reached
 */
const char *fake_failed_call(void);

/** fake_memory_fail_nth - the @nth allocation from now fails; once. 0 for none. */
void fake_memory_fail_nth(unsigned int nth);

/** fake_memory_failed - has it? */
bool fake_memory_failed(void);

/* Devices. The members may be changed while nothing else runs. */

#define FAKE_GIDS 8

struct fake_device {
	struct vbd_link link;
	bool plugged;		     /* ibv_get_device_list(3) shows it */
	struct ibv_device ibv;	     /* name, dev_name ("uverbs0"), transport_type */
	struct ibv_device_attr attr; /* orig_attr of ibv_query_device_ex(3) */
	struct ibv_odp_caps odp_caps;
	struct ibv_cq_moderation_caps cq_mod_caps;
	bool resizes_cqs;
	struct ibv_port_attr port; /* of each of its ports */
	struct ibv_gid_entry gids[FAKE_GIDS];
	size_t gid_count;
	struct sockaddr_in addr; /* of its network interface; port 0 */
	int open_errno;		 /* not 0: it can't be opened */
	unsigned int contexts;	 /* open ones */
	unsigned int ids;	 /* CM ids that are bound to it */
};

/** fake_device_add - a RoCE device with one active port, 10.0.0.1 for the first; a new uverbs
 * number each time */
struct fake_device *fake_device_add(const char *name);

/** fake_device_unplug - it is not listed any more; what is open stays open */
void fake_device_unplug(struct fake_device *device);

/** fake_device_cm_removal - every CM id that is bound to it gets DEVICE_REMOVAL */
void fake_device_cm_removal(struct fake_device *device);

/** fake_device_let_go - can the kernel finish the removal: no context open, no id bound? */
bool fake_device_let_go(const struct fake_device *device);

/** fake_netroute - what vbd_pv_find_netroute() finds from now on; before it is called, that every
 * address is one of this host */
void fake_netroute(const struct vbd_pv_netroute *netroute);

/** fake_device_async - an async event of the device, or of its port @port_num */
void fake_device_async(struct fake_device *device, enum ibv_event_type type, int port_num);

/** fake_qp_async - an async event that names a QP */
void fake_qp_async(struct ibv_qp *qp, enum ibv_event_type type);

/* The connection manager. */

/** fake_cm_event - queue an event for @id */
void fake_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status);

/** fake_cm_event_with - the same, with connection parameters and private data of @event */
void fake_cm_event_with(struct rdma_cm_id *id, const struct vbd_pv_cm_event *event);

/** fake_addr_resolved - ADDR_RESOLVED; @id is bound to @device (NULL: to none, as with a node GUID
 * of 0) */
void fake_addr_resolved(struct rdma_cm_id *id, struct fake_device *device);

/** fake_connect_response - CONNECT_RESPONSE of a peer with QP 0x77, 16 reads either netroute; on
 * iWARP ESTABLISHED */
void fake_connect_response(struct rdma_cm_id *id);

/**
 * fake_connect_request - a peer asks @listener for a connection on @device
 *
 * Returns the new id; it lives until it is destroyed, or its listener is before the event was
 * taken.
 */
struct rdma_cm_id *fake_connect_request(struct rdma_cm_id *listener, struct fake_device *device);

/** fake_id_listening - a listening id on @port (host order); NULL if there is none */
struct rdma_cm_id *fake_id_listening(uint16_t port);

/* What an id was asked for last; -1 where it was not. */
struct fake_id_asked {
	int ack_timeout, tos, reuse_addr, v6_only, backlog, resolve_timeout_ms;
	struct rdma_conn_param param;		      /* of connect or accept */
	uint8_t private_data[VBD_PRIVATE_DATA_BYTES]; /* of connect, accept or reject */
	uint8_t private_data_bytes;
	bool vendor_option; /* reason of the rejection */
	bool connected, accepted, rejected, established, disconnected, notified;
	bool joined, send_only, left; /* a multicast group */
};

struct fake_id_asked fake_id_asked(const struct rdma_cm_id *id);

/* Datagrams. */

/** fake_sidr_answer - ESTABLISHED: the peer's QP is @qpn, its qkey VBD_CM_QKEY; with private data
 * "yes" */
void fake_sidr_answer(struct rdma_cm_id *id, uint32_t qpn);

/** fake_multicast_joined - MULTICAST_JOIN: the group is ff0e::1, its LID 0xc001 */
void fake_multicast_joined(struct rdma_cm_id *id);

/** fake_id_latest - the id that was created last; NULL if there is none */
struct rdma_cm_id *fake_id_latest(void);

/** fake_attached - groups that @qp is attached to */
unsigned int fake_attached(struct ibv_qp *qp);

/* What an address handle was made of. */
struct ibv_ah_attr fake_ah_attr(const struct ibv_ah *ah);

/** fake_datagram - a message from QP @src_qp at 10.0.0.99 arrives in the oldest receive of @qp */
void fake_datagram(struct ibv_qp *qp, uint32_t src_qp, const void *data, uint32_t length_bytes);

/* Work requests. */

#define FAKE_SGES 64

struct fake_wr {
	struct vbd_link link;
	uint64_t wr_id;
	bool recv;
	bool shared; /* it waits, or waited, in an SRQ */
	enum ibv_wr_opcode opcode;
	unsigned int send_flags;
	uint32_t length_bytes; /* of all ranges together */
	struct ibv_sge sges[FAKE_SGES];
	int sge_count;
	uint8_t *addr; /* of the first range; NULL if there is none */
	uint32_t lkey; /* the same */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm_data; /* as it is on the wire */
	uint64_t compare_add, swap;
	struct ibv_ah *ah; /* UD, and the two below */
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint8_t inlined[1024];
	/* a bind, or (without mw) an invalidation */
	struct ibv_mw *mw;
	struct ibv_mw_bind_info bind;
	uint32_t new_rkey;
};

/** fake_wr_gather - the bytes of its ranges, or those that were copied at the post */
void fake_wr_gather(const struct fake_wr *wr, uint8_t *to);

/** fake_wr_scatter - bytes into its ranges, the first one first */
void fake_wr_scatter(const struct fake_wr *wr, const uint8_t *from, uint32_t length_bytes);

/** fake_sends - how many sends are outstanding on @qp (writes and reads are sends) */
unsigned int fake_sends(struct ibv_qp *qp);
unsigned int fake_recvs(struct ibv_qp *qp);

/** fake_send_at - the @i-th oldest outstanding send; fails the program if there is none */
struct fake_wr fake_send_at(struct ibv_qp *qp, unsigned int i);

/** fake_send_done - the oldest send completes well */
void fake_send_done(struct ibv_qp *qp);

/** fake_sends_done - the @n oldest do */
void fake_sends_done(struct ibv_qp *qp, unsigned int n);

/** fake_send_failed - the oldest send completes in error; the QP goes to ERR and the rest is
 * flushed */
void fake_send_failed(struct ibv_qp *qp, enum ibv_wc_status status, uint32_t vendor_err);

/** fake_recv_done - a message of @length_bytes arrives in the oldest receive */
void fake_recv_done(struct ibv_qp *qp, const void *data, uint32_t length_bytes);

/** fake_recv_done_imm - the same with an immediate; IBV_WC_RECV_RDMA_WITH_IMM as @opcode is a write
 * of @length_bytes elsewhere, and @data is not looked at */
void fake_recv_done_imm(struct ibv_qp *qp, enum ibv_wc_opcode opcode, const void *data,
	uint32_t length_bytes, uint32_t imm);

/** fake_recv_failed - as fake_send_failed(), of the oldest receive */
void fake_recv_failed(struct ibv_qp *qp, enum ibv_wc_status status, uint32_t vendor_err);

/** fake_qp_to_err - the device moves the QP to ERR by itself */
void fake_qp_to_err(struct ibv_qp *qp);

/** fake_qp_draining - what a QP in SQD says of its send queue */
void fake_qp_draining(struct ibv_qp *qp, bool draining);

/** fake_flushes_withheld - QPs in ERR keep their work requests (rxe, when its task is stuck) */
void fake_flushes_withheld(bool withheld);

/** fake_receives_optional - a QP may be accepted with before it has any (service none) */
void fake_receives_optional(bool optional);

/** fake_flush - now */
void fake_flush(struct ibv_qp *qp);

/** fake_srq_recvs - receives that wait in @srq */
unsigned int fake_srq_recvs(struct ibv_srq *srq);

/** fake_srq_limit - what it is armed with; 0: not armed */
uint32_t fake_srq_limit(struct ibv_srq *srq);

/** fake_cq_moderation - what was asked for last; 0 and 0 if nothing was */
void fake_cq_moderation(struct ibv_cq *cq, uint16_t *ret_count, uint16_t *ret_period_us);

/** fake_cq_push - a completion that nobody's work request led to */
void fake_cq_push(struct ibv_cq *cq, const struct ibv_wc *wc);

/** fake_cq_high_water - the most completions that ever waited in @cq */
unsigned int fake_cq_high_water(struct ibv_cq *cq);

/** fake_loopback - from now on ids connect to each other and work requests move bytes */
void fake_loopback(bool on);

#endif
