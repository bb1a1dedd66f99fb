/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and meanings of the numbers of the libraries: CM events, CM reject reasons, completion
 * statuses and opcodes, QP states, async events. One table each, in names.c; the numbers are the
 * libraries' own.
 *
 * Any thread. All strings are static; an unknown number has a name too, never NULL.
 */
#ifndef VBD_RDMA_NAMES_NAMES_H
#define VBD_RDMA_NAMES_NAMES_H

#include "base/enum.h"
#include "base/status.h"

/** vbd_cm_event_name - "RDMA_CM_EVENT_REJECTED" for an enum rdma_cm_event_type */
const char *vbd_cm_event_name(int type);

/**
 * vbd_cm_event_key - "addr_resolved" for an enum rdma_cm_event_type, as part of a name
 *
 * Returns @key; "unknown" for any other value.
 */
#define VBD_CM_EVENT_KEY_BYTES 32
const char *vbd_cm_event_key(int type, char key[VBD_CM_EVENT_KEY_BYTES]);

/** vbd_cm_event_text - the meaning of the event, one sentence without its full stop */
const char *vbd_cm_event_text(int type);

/* clang-format off */
/* CM reject reasons (IBTA 12.6.7.2); names and numbers as in the kernel's rdma/ib_cm.h (6.1).
 * X(SYMBOL, number, text) */
#define VBD_IB_REJECT_MAP(X) \
	X(IB_CM_REJ_NO_QP, 1, "no QP available") \
	X(IB_CM_REJ_NO_EEC, 2, "no end-to-end context available") \
	X(IB_CM_REJ_NO_RESOURCES, 3, "no resources available") \
	X(IB_CM_REJ_TIMEOUT, 4, "timeout") \
	X(IB_CM_REJ_UNSUPPORTED, 5, "unsupported request") \
	X(IB_CM_REJ_INVALID_COMM_ID, 6, "invalid communication id") \
	X(IB_CM_REJ_INVALID_COMM_INSTANCE, 7, "invalid communication instance") \
	X(IB_CM_REJ_INVALID_SERVICE_ID, 8, "nobody listens on that port (invalid service id)") \
	X(IB_CM_REJ_INVALID_TRANSPORT_TYPE, 9, "invalid transport service type") \
	X(IB_CM_REJ_STALE_CONN, 10, "stale connection") \
	X(IB_CM_REJ_RDC_NOT_EXIST, 11, "no such service (RDC does not exist)") \
	X(IB_CM_REJ_INVALID_GID, 12, "primary remote GID rejected") \
	X(IB_CM_REJ_INVALID_LID, 13, "primary remote LID rejected") \
	X(IB_CM_REJ_INVALID_SL, 14, "invalid primary SL") \
	X(IB_CM_REJ_INVALID_TRAFFIC_CLASS, 15, "invalid primary traffic class") \
	X(IB_CM_REJ_INVALID_HOP_LIMIT, 16, "invalid primary hop limit") \
	X(IB_CM_REJ_INVALID_PACKET_RATE, 17, "invalid primary packet rate") \
	X(IB_CM_REJ_INVALID_ALT_GID, 18, "alternate remote GID rejected") \
	X(IB_CM_REJ_INVALID_ALT_LID, 19, "alternate remote LID rejected") \
	X(IB_CM_REJ_INVALID_ALT_SL, 20, "invalid alternate SL") \
	X(IB_CM_REJ_INVALID_ALT_TRAFFIC_CLASS, 21, "invalid alternate traffic class") \
	X(IB_CM_REJ_INVALID_ALT_HOP_LIMIT, 22, "invalid alternate hop limit") \
	X(IB_CM_REJ_INVALID_ALT_PACKET_RATE, 23, "invalid alternate packet rate") \
	X(IB_CM_REJ_PORT_CM_REDIRECT, 24, "port and CM redirection") \
	X(IB_CM_REJ_PORT_REDIRECT, 25, "port redirection") \
	X(IB_CM_REJ_INVALID_MTU, 26, "invalid path MTU") \
	X(IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES, 27, "insufficient responder resources") \
	X(IB_CM_REJ_CONSUMER_DEFINED, 28, "the program there refused, or listens at another address (consumer defined)") \
	X(IB_CM_REJ_INVALID_RNR_RETRY, 29, "invalid RNR retry count") \
	X(IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID, 30, "duplicate local communication id") \
	X(IB_CM_REJ_INVALID_CLASS_VERSION, 31, "invalid class version") \
	X(IB_CM_REJ_INVALID_FLOW_LABEL, 32, "invalid flow label") \
	X(IB_CM_REJ_INVALID_ALT_FLOW_LABEL, 33, "invalid alternate flow label") \
	X(IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED, 35, "vendor option not supported (ECE)")
/* clang-format on */

enum vbd_ib_reject {
#define VBD_IB_REJECT_NUMBER(sym, number, text) sym = number,
	VBD_IB_REJECT_MAP(VBD_IB_REJECT_NUMBER)
#undef VBD_IB_REJECT_NUMBER
};

/**
 * vbd_cm_reject_name - the reason behind a REJECTED event's status
 * @status: raw: an IB CM reject reason (IBTA 12.6.7.2) on InfiniBand and RoCE, a negative errno on
 * iWARP
 */
const char *vbd_cm_reject_name(int status);

/** vbd_sidr_status_name - the status of an answer to a SIDR request (IBTA 12.11.2.2) */
const char *vbd_sidr_status_name(int status);

/** vbd_wc_status_name - "IBV_WC_REM_ACCESS_ERR" for an enum ibv_wc_status */
const char *vbd_wc_status_name(int status);

/** vbd_wc_status_text - the meaning of the status */
const char *vbd_wc_status_text(int status);

/**
 * vbd_wc_status_class - the status that stands for a failed completion
 *
 * Tests and clients look at the class: devices differ in the raw status (rxe answers a bad lkey
 * with LOC_QP_OP_ERR, mlx5 with LOC_PROT_ERR). A flush, which is no cause, gives VBD_E_QP_FATAL.
 */
enum vbd_status vbd_wc_status_class(int status);

/** vbd_qp_state_name - "RTS" for an enum ibv_qp_state */
const char *vbd_qp_state_name(int state);

/** vbd_qp_state_text - the meaning of the state */
const char *vbd_qp_state_text(int state);

/** vbd_async_event_name - "port_err" for an enum ibv_event_type */
const char *vbd_async_event_name(int type);

/** vbd_async_event_text - the meaning of the event */
const char *vbd_async_event_text(int type);

/** VBD_ASYNC_EVENT_TYPES - async event types are below this */
#define VBD_ASYNC_EVENT_TYPES 32

/** vbd_port_state_name - "active" for an enum ibv_port_state */
const char *vbd_port_state_name(int state);

/** vbd_phys_state_name - "link_up" for the physical port states of IBTA 14.2.5.6 */
const char *vbd_phys_state_name(int phys_state);

/** vbd_mtu_bytes - 4096 for IBV_MTU_4096; 0 for a number that is no enum ibv_mtu */
uint32_t vbd_mtu_bytes(int mtu);

/** vbd_mtu_of_bytes - the enum ibv_mtu of 256, 512, 1024, 2048 or 4096; 0 for anything else */
int vbd_mtu_of_bytes(uint32_t bytes);

/** vbd_min_rnr_timer_ns - the time of a min_rnr_timer code, 0 to 31 (IBTA table 46) */
uint64_t vbd_min_rnr_timer_ns(unsigned int code);

/** vbd_ack_timeout_ns - 4.096 us * 2^code; 0 for code 0, which means infinite */
uint64_t vbd_ack_timeout_ns(unsigned int code);

/** vbd_min_rnr_timer_code - the code of the shortest time of at least @ns; 0 above 491.52 ms */
uint8_t vbd_min_rnr_timer_code(uint64_t ns);

/** vbd_ack_timeout_code - the code of the shortest time of at least @ns: 1 to 31 */
uint8_t vbd_ack_timeout_code(uint64_t ns);

/**
 * vbd_dead_peer_ms - about how long it takes to notice a dead peer while data is sent, rounded up
 *
 * Every try waits for the ACK timeout once, and up to four times as long on some devices (IBTA
 * 9.7.6.1.3). Returns false if the time is infinite: with code 0, and with a @retry_count of 7
 * where @soft_roce, whose driver does not count 7 down (rxe_comp.c, 6.1).
 * On other devices 7 is seven retries: only rnr_retry has an infinite value.
 */
bool vbd_dead_peer_ms(
	unsigned int ack_timeout, unsigned int retry_count, bool soft_roce, uint64_t *ret_ms);

/* CM events that mean something else than they say, by the state of the connection. The error of a
 * connection, the cause in `explain` (rdma/diagnose/verdict_rows.h) and docs/why.md
 * (rdma/diagnose/why.c) have their words from here. */

/* clang-format off */
/* Clauses that follow the name of the peer, and hints. */
#define VBD_TEXT_ADDRESS_TAKEN(hwaddr) \
	" has another hardware address now" hwaddr ": another host has taken its address, or its interface was replaced"
#define VBD_HINT_ADDRESS_TAKEN \
	"Compare the hardware address with that of the peer (`ip link` there); if it is another host's, take the address from that. Then connect again."
#define VBD_TEXT_NOT_CONFIRMED \
	" asked for the connection, was accepted, and did not confirm: its program has ended, or the answer from here does not reach it"
#define VBD_HINT_NOT_CONFIRMED \
	"Look at the connection on the peer's host. If it still waits for the answer there, packets must pass both ways: with RoCE UDP 4791."

/* X(SYMBOL, clause, hint) */
#define VBD_CM_MEANING_MAP(X) \
	X(VBD_CM_ADDRESS_TAKEN, VBD_TEXT_ADDRESS_TAKEN(""), VBD_HINT_ADDRESS_TAKEN) \
	X(VBD_CM_NOT_CONFIRMED, VBD_TEXT_NOT_CONFIRMED, VBD_HINT_NOT_CONFIRMED)
/* clang-format on */

enum vbd_cm_meaning { VBD_CM_MEANING_MAP(VBD_ENUM_ROW) VBD_CM_MEANING_COUNT, VBD_CM_AS_IT_SAYS };

/**
 * vbd_cm_meaning - the meaning of a CM event
 * @type:        enum rdma_cm_event_type
 * @status:      of the event
 * @established: the connection was established
 * @passive:     the peer asked for it
 */
enum vbd_cm_meaning vbd_cm_meaning(int type, int64_t status, bool established, bool passive);

/** vbd_cm_meaning_text - a clause that follows the name of the peer */
const char *vbd_cm_meaning_text(enum vbd_cm_meaning meaning);

/** vbd_cm_meaning_hint - a sentence: the remedy */
const char *vbd_cm_meaning_hint(enum vbd_cm_meaning meaning);

#endif
