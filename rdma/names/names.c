/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/names.h"

#include "base/clock.h"
#include "rdma/names/reason.h"
#include "rdma/names/rejection.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <ctype.h>

struct name {
	const char *name;
	const char *text;
};

struct bare_name {
	const char *name;
};

/* The function that gives the member of a row of the table; @unknown: for a number without a row */
#define COLUMN(type, function, table, member, unknown)                         \
	type function(int number)                                              \
	{                                                                      \
		return number >= 0 && (size_t)number < VBD_ARRAY_LEN(table) && \
				       (table)[number].name                    \
			       ? (table)[number].member                        \
			       : (unknown);                                    \
	}

static const char unknown_number[] = "A number that this version of verbsd does not know";

#define CM_EVENT(sym, text) [RDMA_CM_EVENT_##sym] = {"RDMA_CM_EVENT_" #sym, text}
static const struct name cm_events[] = {
	CM_EVENT(ADDR_RESOLVED, "The address was resolved to a device and a neighbour"),
	CM_EVENT(ADDR_ERROR, "The address could not be resolved"),
	CM_EVENT(ROUTE_RESOLVED, "There is a path to the peer"),
	CM_EVENT(ROUTE_ERROR, "No path to the peer was found"),
	CM_EVENT(CONNECT_REQUEST, "A peer requests a connection"),
	CM_EVENT(CONNECT_RESPONSE, "The peer accepted; the QP can go to RTS"),
	CM_EVENT(CONNECT_ERROR, "The connection could not be made"),
	CM_EVENT(UNREACHABLE, "The peer does not answer, or its neighbour entry changed"),
	CM_EVENT(REJECTED, "The peer rejected the connection"),
	CM_EVENT(ESTABLISHED, "Both sides are connected"),
	CM_EVENT(DISCONNECTED, "The connection was disconnected"),
	CM_EVENT(DEVICE_REMOVAL, "The RDMA device is being removed"),
	CM_EVENT(MULTICAST_JOIN, "The multicast group was joined"),
	CM_EVENT(MULTICAST_ERROR, "The multicast group could not be joined"),
	CM_EVENT(ADDR_CHANGE, "The network device behind the address changed"),
	CM_EVENT(TIMEWAIT_EXIT, "The QP number may be used again"),
};

COLUMN(const char *, vbd_cm_event_name, cm_events, name, "RDMA_CM_EVENT_UNKNOWN")
COLUMN(const char *, vbd_cm_event_text, cm_events, text, unknown_number)

const char *vbd_cm_event_key(int type, char key[VBD_CM_EVENT_KEY_BYTES])
{
	const char *name = vbd_cm_event_name(type) + strlen("RDMA_CM_EVENT_");
	size_t len = 0;

	for (; *name && len + 1 < VBD_CM_EVENT_KEY_BYTES; name++)
		key[len++] = (char)tolower((unsigned char)*name);
	key[len] = '\0';
	return key;
}

static const char *const ib_rejects[] = {VBD_IB_REJECT_MAP(VBD_ENUM_3)};

const char *vbd_cm_reject_name(int status)
{
	switch (status) {
	case -ECONNREFUSED:
		return "connection refused";
	case -ECONNRESET:
		return "connection reset";
	case -ETIMEDOUT:
		return "timeout";
	case -EPROTO:
		return "protocol error (MPA)";
	default:
		break;
	}
	if (status < 0 || (size_t)status >= VBD_ARRAY_LEN(ib_rejects) || !ib_rejects[status])
		return "unknown reason";
	return ib_rejects[status];
}

/* IBTA 12.11.2.2, numbers as in the kernel's rdma/ib_cm.h (6.1). */
static const struct bare_name sidr_statuses[] = {
	[0] = {"the peer answered with its QP number"},
	[1] = {"nobody listens on that port (service id not supported)"},
	[2] = {"the program there refused"},
	[3] = {"no QP available"},
	[4] = {"redirected to another port"},
	[5] = {"unsupported version"},
};

COLUMN(const char *, vbd_sidr_status_name, sidr_statuses, name, "unknown reason")

struct wc_status {
	const char *name;
	const char *text;
	enum vbd_status class;
};

#define WC_STATUS(sym, class, text) [IBV_WC_##sym] = {"IBV_WC_" #sym, text, class}
static const struct wc_status wc_statuses[] = {
	WC_STATUS(SUCCESS, VBD_OK, "Done"),
	WC_STATUS(LOC_LEN_ERR, VBD_E_LOCAL_ERROR,
		"A message was longer than the local receive or the QP allows"),
	WC_STATUS(LOC_QP_OP_ERR, VBD_E_LOCAL_ERROR, "The local QP could not execute the operation"),
	WC_STATUS(LOC_EEC_OP_ERR, VBD_E_LOCAL_ERROR, "The local end-to-end context failed"),
	WC_STATUS(LOC_PROT_ERR, VBD_E_LOCAL_ERROR, "The local key does not cover the local memory"),
	WC_STATUS(WR_FLUSH_ERR, VBD_E_QP_FATAL, "Flushed: the QP was already in the error state"),
	WC_STATUS(MW_BIND_ERR, VBD_E_LOCAL_ERROR, "The memory window could not be bound"),
	WC_STATUS(BAD_RESP_ERR, VBD_E_REMOTE_INVALID, "The peer's answer was invalid"),
	WC_STATUS(LOC_ACCESS_ERR, VBD_E_LOCAL_ERROR,
		"The local memory does not allow the peer's data"),
	WC_STATUS(REM_INV_REQ_ERR, VBD_E_REMOTE_INVALID,
		"The peer's device rejected the request as invalid"),
	WC_STATUS(REM_ACCESS_ERR, VBD_E_REMOTE_ACCESS,
		"The peer's device refused access to its memory"),
	WC_STATUS(REM_OP_ERR, VBD_E_REMOTE_OPERATION, "The peer failed the operation"),
	WC_STATUS(RETRY_EXC_ERR, VBD_E_RETRY_EXCEEDED,
		"The peer's device did not acknowledge in time"),
	WC_STATUS(RNR_RETRY_EXC_ERR, VBD_E_RNR_EXCEEDED,
		"The peer had no receive posted for too long"),
	WC_STATUS(LOC_RDD_VIOL_ERR, VBD_E_LOCAL_ERROR, "Reliable datagram domain violation"),
	WC_STATUS(REM_INV_RD_REQ_ERR, VBD_E_REMOTE_INVALID, "Invalid reliable datagram request"),
	WC_STATUS(REM_ABORT_ERR, VBD_E_REMOTE_OPERATION, "The peer aborted the operation"),
	WC_STATUS(INV_EECN_ERR, VBD_E_LOCAL_ERROR, "Invalid end-to-end context number"),
	WC_STATUS(INV_EEC_STATE_ERR, VBD_E_LOCAL_ERROR, "Invalid end-to-end context state"),
	WC_STATUS(FATAL_ERR, VBD_E_QP_FATAL, "The device failed"),
	WC_STATUS(RESP_TIMEOUT_ERR, VBD_E_RETRY_EXCEEDED, "The peer did not answer in time"),
	WC_STATUS(GENERAL_ERR, VBD_E_LOCAL_ERROR, "A device error without a more specific status"),
	WC_STATUS(TM_ERR, VBD_E_LOCAL_ERROR, "Tag matching failed"),
	WC_STATUS(TM_RNDV_INCOMPLETE, VBD_E_LOCAL_ERROR, "Tag matching rendezvous incomplete"),
};

COLUMN(const char *, vbd_wc_status_name, wc_statuses, name, "IBV_WC_UNKNOWN")
COLUMN(const char *, vbd_wc_status_text, wc_statuses, text,
	"A status that this version of verbsd does not know")
COLUMN(enum vbd_status, vbd_wc_status_class, wc_statuses, class, VBD_E_LOCAL_ERROR)

#define QP_STATE(sym, text) [IBV_QPS_##sym] = {#sym, text}
static const struct name qp_states[] = {
	QP_STATE(RESET, "The QP exists, and neither sends nor receives"),
	QP_STATE(INIT, "Port and access of the QP are set; receives can be posted"),
	QP_STATE(RTR, "Ready to receive"),
	QP_STATE(RTS, "Ready to send and receive"),
	QP_STATE(SQD, "The send queue drains; nothing new is sent"),
	QP_STATE(SQE, "The send queue failed; receiving goes on"),
	QP_STATE(ERR, "The QP failed or was closed: all posted work is flushed"),
};

COLUMN(const char *, vbd_qp_state_name, qp_states, name, "UNKNOWN")
COLUMN(const char *, vbd_qp_state_text, qp_states, text, unknown_number)

#define ASYNC_EVENT(sym, name, text) [IBV_EVENT_##sym] = {name, text}
static const struct name async_events[] = {
	ASYNC_EVENT(CQ_ERR, "cq_err", "A completion queue overran or failed"),
	ASYNC_EVENT(QP_FATAL, "qp_fatal", "A QP failed"),
	ASYNC_EVENT(QP_REQ_ERR, "qp_req_err", "A peer's request to a QP was invalid"),
	ASYNC_EVENT(QP_ACCESS_ERR, "qp_access_err", "A peer's access to a QP's memory was refused"),
	ASYNC_EVENT(COMM_EST, "comm_est", "A QP received its first packet before it was in RTS"),
	ASYNC_EVENT(SQ_DRAINED, "sq_drained", "A send queue has drained"),
	ASYNC_EVENT(PATH_MIG, "path_mig", "A QP moved to its alternate path"),
	ASYNC_EVENT(PATH_MIG_ERR, "path_mig_err", "A QP could not move to its alternate path"),
	ASYNC_EVENT(DEVICE_FATAL, "device_fatal", "The device failed or is being removed"),
	ASYNC_EVENT(PORT_ACTIVE, "port_active", "A port came up"),
	ASYNC_EVENT(PORT_ERR, "port_err", "A port went down"),
	ASYNC_EVENT(LID_CHANGE, "lid_change", "A port has a new LID"),
	ASYNC_EVENT(PKEY_CHANGE, "pkey_change", "A port's partition table changed"),
	ASYNC_EVENT(SM_CHANGE, "sm_change", "There is a new subnet manager"),
	ASYNC_EVENT(SRQ_ERR, "srq_err", "A shared receive queue failed"),
	ASYNC_EVENT(SRQ_LIMIT_REACHED, "srq_limit_reached", "A shared receive queue runs low"),
	ASYNC_EVENT(QP_LAST_WQE_REACHED, "qp_last_wqe_reached",
		"A QP took its last receive from a shared receive queue"),
	ASYNC_EVENT(CLIENT_REREGISTER, "client_reregister",
		"The subnet manager wants clients to register again"),
	ASYNC_EVENT(GID_CHANGE, "gid_change", "A port's GID table changed"),
	ASYNC_EVENT(WQ_FATAL, "wq_fatal", "A work queue failed"),
};
_Static_assert(VBD_ARRAY_LEN(async_events) <= VBD_ASYNC_EVENT_TYPES, "counters have room for each");

COLUMN(const char *, vbd_async_event_name, async_events, name, "unknown")
COLUMN(const char *, vbd_async_event_text, async_events, text, unknown_number)

static const struct bare_name port_states[] = {
	[IBV_PORT_NOP] = {"nop"},
	[IBV_PORT_DOWN] = {"down"},
	[IBV_PORT_INIT] = {"init"},
	[IBV_PORT_ARMED] = {"armed"},
	[IBV_PORT_ACTIVE] = {"active"},
	[IBV_PORT_ACTIVE_DEFER] = {"active_defer"},
};

COLUMN(const char *, vbd_port_state_name, port_states, name, "unknown")

static const struct bare_name phys_states[] = {
	[0] = {"none"},
	[1] = {"sleep"},
	[2] = {"polling"},
	[3] = {"disabled"},
	[4] = {"port_configuration_training"},
	[5] = {"link_up"},
	[6] = {"link_error_recovery"},
	[7] = {"phy_test"},
};

COLUMN(const char *, vbd_phys_state_name, phys_states, name, "unknown")

uint32_t vbd_mtu_bytes(int mtu)
{
	if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096)
		return 0;
	return 128U << mtu;
}

int vbd_mtu_of_bytes(uint32_t bytes)
{
	for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		if (vbd_mtu_bytes(mtu) == bytes)
			return mtu;
	}
	return 0;
}

/* IBTA 9.7.5.2.8, table 46. */
uint64_t vbd_min_rnr_timer_ns(unsigned int code)
{
	static const uint32_t us[32] = {655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480,
		640, 960, 1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960,
		61440, 81920, 122880, 163840, 245760, 327680, 491520};

	return (uint64_t)us[code & 31] * 1000;
}

uint64_t vbd_ack_timeout_ns(unsigned int code)
{
	return code ? 4096ULL << (code & 31) : 0;
}

uint8_t vbd_min_rnr_timer_code(uint64_t ns)
{
	uint8_t code = 1;

	while (code <= 31 && vbd_min_rnr_timer_ns(code) < ns)
		code++;
	return code <= 31 ? code : 0;
}

uint8_t vbd_ack_timeout_code(uint64_t ns)
{
	uint8_t code = 1;

	while (code < 31 && vbd_ack_timeout_ns(code) < ns)
		code++;
	return code;
}

bool vbd_dead_peer_ms(
	unsigned int ack_timeout, unsigned int retry_count, bool soft_roce, uint64_t *ret_ms)
{
	uint64_t ns = vbd_ack_timeout_ns(ack_timeout) * (retry_count + 1);

	if (!ack_timeout || (soft_roce && retry_count >= 7))
		return false;
	*ret_ms = (ns + VBD_NS_PER_MS - 1) / VBD_NS_PER_MS;
	return true;
}

VBD_ENUM_COLUMN(const char *, vbd_cm_meaning_text, enum vbd_cm_meaning, VBD_CM_MEANING_MAP, 2)
VBD_ENUM_COLUMN(const char *, vbd_cm_meaning_hint, enum vbd_cm_meaning, VBD_CM_MEANING_MAP, 3)

enum vbd_cm_meaning vbd_cm_meaning(int type, int64_t status, bool established, bool passive)
{
	/* The kernel tells of a neighbour that changed (cma_netevent_work_handler(), 6.1). */
	if (established)
		return type == RDMA_CM_EVENT_UNREACHABLE ? VBD_CM_ADDRESS_TAKEN : VBD_CM_AS_IT_SAYS;
	/* A peer that has got no answer in time says so by a rejection. */
	if (passive && (type == RDMA_CM_EVENT_UNREACHABLE || type == RDMA_CM_EVENT_CONNECT_ERROR ||
			       (type == RDMA_CM_EVENT_REJECTED && status == IB_CM_REJ_TIMEOUT)))
		return VBD_CM_NOT_CONFIRMED;
	return VBD_CM_AS_IT_SAYS;
}

/* Reasons for the end of a connection, and refusals: rdma/names/reason.h. */

static const enum vbd_status reason_statuses[] = {VBD_OK,
#define VBD_REASON_STATUS(sym, clean, outcome) VBD_E_##sym,
	VBD_REASON_MAP(VBD_REASON_STATUS)
#undef VBD_REASON_STATUS
};

const char *vbd_reason_name(enum vbd_reason reason)
{
	enum vbd_status status = vbd_reason_status(reason);

	return status == VBD_OK ? "none" : vbd_status_code(status);
}

const char *vbd_reason_text(enum vbd_reason reason)
{
	enum vbd_status status = vbd_reason_status(reason);

	return status == VBD_OK ? "It has not ended" : vbd_status_text(status);
}

enum vbd_status vbd_reason_status(enum vbd_reason reason)
{
	return (unsigned int)reason < VBD_REASON_COUNT ? reason_statuses[reason] : VBD_OK;
}

bool vbd_reason_clean(enum vbd_reason reason)
{
	static const bool clean[] = {true,
#define VBD_REASON_CLEAN(sym, clean, outcome) clean,
		VBD_REASON_MAP(VBD_REASON_CLEAN)
#undef VBD_REASON_CLEAN
	};

	return (unsigned int)reason >= VBD_REASON_COUNT || clean[reason];
}

enum vbd_reason vbd_reason_of_status(enum vbd_status status)
{
	if (status == VBD_E_VERBS_ERROR)
		return VBD_REASON_RESOURCE_ERROR;
	if (status == VBD_E_INTERNAL)
		return VBD_REASON_PROTOCOL_ERROR;
	for (unsigned int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		if (reason_statuses[i] == status)
			return (enum vbd_reason)i;
	}
	return VBD_REASON_LOCAL_ERROR;
}

static const char *const refusal_names[] = {VBD_REFUSAL_MAP(VBD_ENUM_NAME)};

const char *vbd_refusal_name(enum vbd_refusal refusal)
{
	return refusal_names[refusal];
}

/* The private data with which another verbsd rejects: rdma/names/rejection.h. */

VBD_ENUM_NAMES(vbd_connect_refusal_name, enum vbd_connect_refusal, VBD_CONNECT_REFUSAL_MAP)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_text, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 3)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_told, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 4)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_advice, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 5)

static bool read_refusal_code(const char *code, struct vbd_rejection *rejection)
{
	for (enum vbd_connect_refusal i = 0; i < VBD_CONNECT_REFUSAL_COUNT; i++) {
		if (strcmp(code, vbd_connect_refusal_name(i)) != 0)
			continue;
		(void)snprintf(rejection->text, sizeof(rejection->text), "%s",
			vbd_connect_refusal_told(i));
		rejection->advice = vbd_connect_refusal_advice(i);
		return true;
	}
	return false;
}

/* The text of a status is a sentence about the side that has it. */
static bool read_status_code(const char *code, struct vbd_rejection *rejection)
{
	for (enum vbd_status i = 1; i < VBD_STATUS_COUNT; i++) {
		const char *text = vbd_status_text(i);

		if (strcmp(code, vbd_status_code(i)) != 0)
			continue;
		(void)snprintf(rejection->text, sizeof(rejection->text),
			"it could not accept: %c%s", tolower((unsigned char)*text), text + 1);
		rejection->advice = "See the end of the connection there: `verbsctl explain`.";
		return true;
	}
	return false;
}

/* The deadline of a request is that of the decision. */
static bool read_deadline_code(const char *code, struct vbd_rejection *rejection)
{
	if (strcmp(code, vbd_status_code(VBD_E_TIMED_OUT)) != 0)
		return false;
	(void)snprintf(rejection->text, sizeof(rejection->text),
		"nobody there accepted or rejected the request in time");
	rejection->advice =
		"Decide sooner there (`verbsctl accept`), or have accept_timeout_ms of that "
		"listener raised, or its accept changed to auto.";
	return true;
}

static bool read_deletion_code(const char *code, struct vbd_rejection *rejection)
{
	if (strcmp(code, VBD_REJECTION_LISTENER_DELETED) != 0)
		return false;
	(void)snprintf(rejection->text, sizeof(rejection->text),
		"its listener was deleted before anybody decided");
	rejection->advice =
		"Have the listener created again there (`verbsctl listen`), and connect again.";
	return true;
}

bool vbd_rejection_read(const char *words, struct vbd_rejection *ret_rejection)
{
	const char *code = words + strlen(VBD_REJECTION_PREFIX);

	if (strncmp(words, VBD_REJECTION_PREFIX, strlen(VBD_REJECTION_PREFIX)) != 0)
		return false;
	return read_refusal_code(code, ret_rejection) || read_deadline_code(code, ret_rejection) ||
	       read_deletion_code(code, ret_rejection) || read_status_code(code, ret_rejection);
}
