/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/facts.h"

#include "base/clock.h"
#include "base/text.h"
#include "rdma/device/mem.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/clue_rows.h"
#include "rdma/diagnose/why.h"
#include "rdma/names/rejection.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <stdarg.h>

/* Texts with placeholders. */

bool vbd_facts_dead_peer_detect_ms(const struct vbd_facts *facts, uint64_t *ret_ms)
{
	return facts->qp.sends_known && facts->reliable && !facts->iwarp &&
	       vbd_dead_peer_ms(
		       facts->qp.ack_timeout, facts->qp.retry_count, facts->qp.soft_roce, ret_ms);
}

/* The longest text that takes the place of a placeholder. */
#define WORD_BYTES 240

const char *vbd_span_text(uint64_t ns, char text[VBD_SPAN_TEXT_BYTES])
{
	if (ns >= 10 * VBD_NS_PER_S)
		(void)snprintf(
			text, VBD_SPAN_TEXT_BYTES, "%" PRIu64 " s", (uint64_t)(ns / VBD_NS_PER_S));
	else if (ns >= VBD_NS_PER_S)
		(void)snprintf(
			text, VBD_SPAN_TEXT_BYTES, "%.1f s", (double)ns / (double)VBD_NS_PER_S);
	else if (ns >= 10 * VBD_NS_PER_MS)
		(void)snprintf(text, VBD_SPAN_TEXT_BYTES, "%" PRIu64 " ms",
			(uint64_t)(ns / VBD_NS_PER_MS));
	else
		(void)snprintf(
			text, VBD_SPAN_TEXT_BYTES, "%.2f ms", (double)ns / (double)VBD_NS_PER_MS);
	return text;
}

static void put_text(char *out, const char *text)
{
	(void)snprintf(out, WORD_BYTES, "%s", text ? text : "");
}

static void VBD_PRINTF(3, 4) put_phrase(char *out, bool known, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (known)
		(void)vsnprintf(out, WORD_BYTES, fmt, ap);
	va_end(ap);
}

static void put_number(char *out, uint64_t number)
{
	put_phrase(out, number, "%" PRIu64, number);
}

static void put_span(char *out, uint64_t ns)
{
	char time[VBD_SPAN_TEXT_BYTES];

	if (ns)
		put_text(out, vbd_span_text(ns, time));
}

static void put_address(char *out, const char *host, unsigned int port)
{
	if (*host && port)
		(void)snprintf(out, WORD_BYTES, "%s port %u", host, port);
	else
		put_text(out, host);
}

/* "write of 64 bytes" */
static void put_request(char *out, int op, uint64_t length_bytes)
{
	const char *name = op >= 0 ? vbd_op_name((enum vbd_op)op) : "";

	if (*name && length_bytes)
		(void)snprintf(out, WORD_BYTES, "%s of %" PRIu64 " bytes", name, length_bytes);
	else
		put_text(out, name);
}

static void put_next_hop(char *out, const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		(void)inet_ntop(
			AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, out, WORD_BYTES);
	else if (addr->ss_family == AF_INET6)
		(void)inet_ntop(
			AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, out, WORD_BYTES);
}

/* "(EADDRINUSE)", "(IBV_WC_GENERAL_ERR, vendor_err 0)" */
static bool is_code(const char *text)
{
	return text[0] == ' ' && text[1] == '(' && isupper((unsigned char)text[2]) &&
	       isupper((unsigned char)text[3]);
}

/* Statuses and error numbers are told beside the cause. */
static void put_error(char *out, const char *text)
{
	size_t len = 0;

	while (*text && len + 1 < WORD_BYTES) {
		const char *end = is_code(text) ? strchr(text, ')') : NULL;

		if (end)
			text = end + 1;
		else
			out[len++] = *text++;
	}
	out[len] = '\0';
}

static void put_open(char *out, const struct vbd_incident *incident)
{
	if (incident->open_buffers == 1)
		(void)snprintf(out, WORD_BYTES,
			"only buffer %" PRIu64 " here is open to it, with %" PRIu64
			" bytes and access%s%s%s%s",
			incident->open_id, incident->open_bytes,
			incident->open_access & VBD_ACCESS_REMOTE_WRITE ? " remote_write" : "",
			incident->open_access & VBD_ACCESS_REMOTE_READ ? " remote_read" : "",
			incident->open_access & VBD_ACCESS_REMOTE_ATOMIC ? " remote_atomic" : "",
			incident->open_access & VBD_ACCESS_MW_BIND ? " mw_bind" : "");
	else if (incident->open_buffers)
		(void)snprintf(out, WORD_BYTES, "%" PRIu64 " buffers here are open to it",
			incident->open_buffers);
}

static void put_hwaddr(char *out, const struct vbd_facts *facts)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;
	size_t len = 0;

	if (!facts->netroute_known || netroute->gateway || !netroute->hwaddr_bytes)
		return;
	len = (size_t)snprintf(out, WORD_BYTES, ", ");
	for (size_t i = 0; i < netroute->hwaddr_bytes; i++)
		len += (size_t)snprintf(
			out + len, WORD_BYTES - len, i ? ":%02x" : "%02x", netroute->hwaddr[i]);
}

static bool is_infiniband(const struct vbd_facts *facts)
{
	return facts->port_known && strcmp(facts->port.link_layer, "infiniband") == 0;
}

/* Receives of the peer, which its verbsd reports, are shorter than the message. */
static bool is_receive_shorter(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;
	const struct vbd_incident *incident = &facts->incident;

	return report->known && report->recv_size_bytes && incident->op >= 0 &&
	       vbd_ops[incident->op].sends && incident->length_bytes > report->recv_size_bytes;
}

/* The peer's message, of which its verbsd reports the length, is longer than a receive here. */
static bool is_length_told(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;

	return report->known && report->op >= 0 && vbd_ops[report->op].sends &&
	       report->length_bytes > facts->incident.recv_size_bytes;
}

static bool is_word_at(const char *text, const char *name)
{
	size_t len = strlen(name);

	return strncmp(text + 1, name, len) == 0 && text[len + 1] == '}';
}

/* Write the word whose placeholder begins at @text; false if none begins there. */
static bool put_word(const char *text, const struct vbd_facts *facts, char *out)
{
	const struct vbd_incident *incident = &facts->incident;
	const struct vbd_report *report = &facts->peer_report;
	const struct vbd_pv_netroute *netroute = &facts->netroute;
	const struct vbd_port *port = facts->port_known ? &facts->port : NULL;
	const uint64_t *traces = incident->traces;
	const char *host = *incident->peer ? incident->peer : incident->asked;
	bool routed = facts->netroute_known && !netroute->route_errnum && !netroute->local;
	struct vbd_rejection rejection;
	bool told = vbd_rejection_read(incident->words, &rejection);
	struct vbd_why why;
	bool rejected = vbd_why_find_reject((int)incident->error.raw, &why);
	const char *unknown_text = NULL;
	uint64_t patience_ms = 0;

	(void)vbd_facts_dead_peer_detect_ms(facts, &patience_ms);
#define WORD(name, unknown, kind, ...) \
	(is_word_at(text, #name) &&    \
		(unknown_text = (unknown), put_##kind(out, __VA_ARGS__), true)) ||
	if (!(VBD_WORD_MAP(WORD) false))
		return false;
#undef WORD
	if (!*out)
		put_text(out, unknown_text);
	return true;
}

/* The text that takes the place of the clause whose placeholder begins at @text; NULL if none
 * begins there. */
static const char *find_clause(const char *text, const struct vbd_facts *facts)
{
	const struct vbd_incident *incident = &facts->incident;
	struct vbd_rejection rejection;

#define CLAUSE(name, condition, clause, usual) \
	is_word_at(text, #name) ? (condition) ? (clause) : (usual):
	return VBD_CLAUSE_MAP(CLAUSE) NULL;
#undef CLAUSE
}

/* Fill the clauses, and if @words the words as well. Returns the length. */
static size_t fill(
	const char *text, const struct vbd_facts *facts, bool words, char *buffer, size_t size)
{
	size_t at = 0;

	while (*text && at + 1 < size) {
		char word[WORD_BYTES] = "";
		const char *clause = *text == '{' ? find_clause(text, facts) : NULL;

		if (clause)
			at += fill(clause, facts, words, buffer + at, size - at);
		else if (words && *text == '{' && put_word(text, facts, word))
			at += vbd_text_copy(buffer + at, size - at, word);
		else {
			buffer[at++] = *text++;
			continue;
		}
		text += strcspn(text, "}") + 1;
	}
	buffer[at] = '\0';
	return at;
}

char *vbd_words_usual(const char *text, char *buffer, size_t size)
{
	static const struct vbd_facts unknown;

	(void)fill(text, &unknown, false, buffer, size);
	return buffer;
}

char *vbd_words_fill(const char *text, const struct vbd_facts *facts, char *buffer, size_t size)
{
	(void)fill(text, facts, true, buffer, size);
	return buffer;
}

/* Most bytes of headers before the data in a RoCE v2 packet (iboe_get_mtu(), kernel 6.1). */
#define HEADER_BYTES 58

/* The path MTU where the interfaces have 1500, as they have if nobody changes them. */
#define USUAL_MTU_BYTES 1024

/* The CM repeats a connect request after about 6 s (cm_send_req(), kernel 6.1). It counts that only
 * when the request is over. */
#define REPEATED_MS 10000

/* With less than one gap in so many packets a path is good enough. */
#define MANY 200

/* A dead peer that is noticed after more than this is noticed too late. */
#define SLOW_MS 10000

#define RNR_LONG_NS (100 * VBD_NS_PER_MS)

/* A peer gives up a connection so long after its packets got lost, at most. */
#define LATELY_MS 300000

static bool is_text(const char *text, const char *other)
{
	return text && strcmp(text, other) == 0;
}

static const struct vbd_op_traits *traits_of(int op)
{
	static const struct vbd_op_traits none;

	return op >= 0 ? &vbd_ops[op] : &none;
}

static bool takes_receive(const struct vbd_incident *incident)
{
	return traits_of(incident->op)->sends || incident->op == VBD_OP_WRITE_IMM;
}

/* All connections share the counter, so only a request that waits for a receive reads it; a
 * heartbeat takes none. */
static bool is_without_receive(const struct vbd_incident *incident)
{
	bool waits = incident->outcome != VBD_OUTCOME_SILENT &&
		     incident->outcome != VBD_OUTCOME_PEER_LEFT;

	return incident->outcome == VBD_OUTCOME_RNR ||
	       (waits && takes_receive(incident) && incident->traces[VBD_TRACE_RNR_CAME]);
}

static bool is_port_down(const struct vbd_facts *facts)
{
	return facts->port_known && facts->port.state != IBV_PORT_ACTIVE;
}

/* A port that went down long before the peer left is not why the peer left. */
static bool is_port_fallen(const struct vbd_facts *facts)
{
	bool left = facts->incident.outcome == VBD_OUTCOME_PEER_LEFT;

	return (facts->port_fell && (!left || facts->port_fell_before_ms < LATELY_MS)) ||
	       (left && is_port_down(facts));
}

static bool is_slower_than_timers(const struct vbd_facts *facts)
{
	uint64_t patience_ms;

	return facts->answered && vbd_facts_dead_peer_detect_ms(facts, &patience_ms) &&
	       facts->rtt_ns > patience_ms * VBD_NS_PER_MS;
}

/* rxe says LOC_QP_OP_ERR of a wrong local key, and of a message longer than the receive. */
static bool is_receive_too_short(const struct vbd_facts *facts)
{
	const struct vbd_error *error = &facts->incident.error;

	return error->source == VBD_SOURCE_WC && facts->incident.op == VBD_OP_RECV &&
	       (error->kind == IBV_WC_LOC_LEN_ERR ||
		       (facts->qp.soft_roce && error->kind == IBV_WC_LOC_QP_OP_ERR));
}

static bool has_waited_for_acks(const struct vbd_report *report)
{
	return report->reason == VBD_REASON_RETRY_EXCEEDED ||
	       report->reason == VBD_REASON_PEER_SILENT;
}

/* A side that waits in vain for the other one does not say why that is silent. */
static bool tells_cause(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;
	bool waited =
		report->reason == VBD_REASON_TIMED_OUT || report->reason == VBD_REASON_UNREACHABLE;

	return report->failed && !has_waited_for_acks(report) &&
	       (!waited || facts->incident.outcome == VBD_OUTCOME_PEER_LEFT);
}

/* One side waited in vain for acknowledgements, and nothing had failed on the other. A report is of
 * before if the peer's host does not answer any more. */
static bool are_acks_lost(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;

	if (!report->known || (facts->asked && !facts->answered))
		return false;
	if (facts->incident.outcome == VBD_OUTCOME_PEER_LEFT)
		return has_waited_for_acks(report);
	return !report->ended || report->reason == VBD_REASON_PEER_DISCONNECT;
}

/* The handshake of TCP failed if that says so, or if the kernel knows no way to the host. */
static bool is_tcp_open(const struct vbd_incident *incident)
{
	return incident->tcp_open && incident->error.source != VBD_SOURCE_ERRNO &&
	       (incident->error.source != VBD_SOURCE_CM_EVENT || incident->error.raw >= 0);
}

/* A packet of a longer message has the length of its sender's path MTU, and the device that gets it
 * expects its own (IBTA, 9.7.4.1.6). */
static bool is_mtu_other(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;
	uint64_t least_bytes = report->path_mtu_bytes < facts->qp.path_mtu_bytes
				       ? report->path_mtu_bytes
				       : facts->qp.path_mtu_bytes;

	return report->known && least_bytes && report->path_mtu_bytes != facts->qp.path_mtu_bytes &&
	       (facts->incident.length_bytes > least_bytes || report->length_bytes > least_bytes);
}

static bool is_link_local(const uint8_t raw[16])
{
	return strcmp(vbd_gid_scope(raw), "link_local") == 0;
}

/* Divide first: the limit may be close to UINT64_MAX. */
static bool is_memlock_near(const struct vbd_facts *facts)
{
	return facts->memlock_known && facts->lock_limit_bytes != UINT64_MAX &&
	       facts->locked_bytes >= facts->lock_limit_bytes - facts->lock_limit_bytes / 10;
}

vbd_clue_set vbd_clues_find(const struct vbd_facts *facts)
{
	const struct vbd_incident *incident = &facts->incident;
	const struct vbd_error *error = &incident->error;
	const struct vbd_report *report = &facts->peer_report;
	const struct vbd_pv_netroute *netroute = &facts->netroute;
	const struct vbd_op_traits *op = traits_of(incident->op);
	const uint64_t *traces = incident->traces;
	bool routed = facts->netroute_known && !netroute->route_errnum && !netroute->local;
	const char *neighbour = routed ? netroute->neighbour : NULL;
	bool rejected =
		error->source == VBD_SOURCE_CM_EVENT && error->kind == RDMA_CM_EVENT_REJECTED;
	const char *type = facts->qp.sgid_known ? facts->qp.sgid.type : NULL;
	bool roce = type && strncmp(type, "roce", 4) == 0;
	bool local = is_link_local(facts->qp.sgid.raw);
	bool port_mtus = facts->port_known && !facts->iwarp;
	uint32_t port_mtu = port_mtus ? facts->port.active_mtu_bytes : 0;
	uint64_t patience_ms = 0;
	bool gives_up = vbd_facts_dead_peer_detect_ms(facts, &patience_ms);
	struct vbd_rejection rejection;

#define BIT(sym, condition, text) ((condition) ? VBD_CLUE_BIT(VBD_CLUE_##sym) : 0) |
	return VBD_CLUE_MAP(BIT) 0;
#undef BIT
}

const char *vbd_clue_text(enum vbd_clue clue)
{
	static const char *const texts[VBD_CLUE_COUNT] = {
#define CLUE_TEXT(sym, condition, text) [VBD_CLUE_##sym] = text,
		VBD_CLUE_MAP(CLUE_TEXT)
#undef CLUE_TEXT
	};

	return texts[clue];
}

static const struct {
	enum vbd_counter_set set;
	const char *name;
	const char *other;
} traces[] = {
#define TRACE(sym, set, name, other) [sym] = {set, name, other},
	VBD_TRACE_MAP(TRACE)
#undef TRACE
};

enum vbd_trace vbd_trace_of(enum vbd_counter_set set, const char *name)
{
	for (unsigned int i = 0; i < VBD_TRACE_COUNT; i++) {
		if (traces[i].set == set &&
			(strcmp(traces[i].name, name) == 0 || strcmp(traces[i].other, name) == 0))
			return (enum vbd_trace)i;
	}
	return VBD_TRACE_COUNT;
}
