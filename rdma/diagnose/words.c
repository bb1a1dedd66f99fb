/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/words.h"

#include "base/attr.h"
#include "base/clock.h"
#include "rdma/device/mem.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/facts.h"
#include "rdma/diagnose/why.h"
#include "rdma/names/names.h"
#include "rdma/names/rejection.h"

#include <arpa/inet.h>
#include <ctype.h>

bool vbd_facts_dead_peer_detect_ms(const struct vbd_facts *facts, uint64_t *ret_ms)
{
	return facts->timers_known && facts->reliable && !facts->iwarp &&
	       vbd_dead_peer_ms(facts->ack_timeout, facts->retry_count, facts->soft_roce, ret_ms);
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

static void put_number(char *out, uint64_t number)
{
	if (number)
		(void)snprintf(out, WORD_BYTES, "%" PRIu64, number);
}

/* The words that a member of the facts has. */
#define PUT(kind, name, value)                                           \
	static void put_##name(char *out, const struct vbd_facts *facts) \
	{                                                                \
		put_##kind(out, facts->value);                           \
	}
PUT(text, asked, incident.asked)
PUT(number, port, incident.port)
PUT(text, device, device)
PUT(text, open_device, incident.open_device)
PUT(number, path_mtu, path_mtu_bytes)
PUT(number, route_mtu, netroute.mtu_bytes)
PUT(number, length, incident.length_bytes)
PUT(number, done, incident.done_bytes)
PUT(number, receive, incident.recv_size_bytes)
PUT(text, words, incident.words)
PUT(number, inbox, inbox_capacity)
PUT(number, srq, srq_id)
PUT(number, rnr_came, incident.traces[VBD_TRACE_RNR_CAME])
PUT(number, rnr_told, incident.traces[VBD_TRACE_RNR_TOLD])
PUT(number, packets_sent, incident.traces[VBD_TRACE_PACKETS_SENT])
PUT(number, peer_length, peer_report.length_bytes)
PUT(number, peer_receive, peer_report.recv_size_bytes)
PUT(number, peer_mtu, peer_report.path_mtu_bytes)
PUT(number, port_num, port_known ? facts->port.port_num : 0)
PUT(text, port_state, port_known ? vbd_port_state_name((int)facts->port.state) : NULL)
PUT(text, fault, incident.fault)
PUT(number, gaps,
	incident.traces[VBD_TRACE_GAPS_SEEN] + facts->incident.traces[VBD_TRACE_GAPS_TOLD])
PUT(number, out_of_step,
	incident.traces[VBD_TRACE_GAPS_SEEN] + facts->incident.traces[VBD_TRACE_REPEATS_SEEN])
#undef PUT

static void put_host(char *out, const struct vbd_facts *facts)
{
	const struct vbd_incident *incident = &facts->incident;

	put_text(out, *incident->peer ? incident->peer : incident->asked);
}

static void put_peer(char *out, const struct vbd_facts *facts)
{
	size_t len;

	put_host(out, facts);
	len = strlen(out);
	if (len && facts->incident.port)
		(void)snprintf(out + len, WORD_BYTES - len, " port %u", facts->incident.port);
}

static void put_netdev(char *out, const struct vbd_facts *facts)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;

	if (facts->netroute_known && !netroute->route_errnum && !netroute->local)
		put_text(out, netroute->netdev);
	else if (facts->sgid_known)
		put_text(out, facts->sgid.netdev);
}

static void put_next_hop(char *out, const struct vbd_facts *facts)
{
	const struct sockaddr_storage *addr = &facts->netroute.next;

	if (addr->ss_family == AF_INET)
		(void)inet_ntop(
			AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, out, WORD_BYTES);
	else if (addr->ss_family == AF_INET6)
		(void)inet_ntop(
			AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, out, WORD_BYTES);
}

static void put_op(char *out, const struct vbd_facts *facts)
{
	if (facts->incident.op >= 0)
		put_text(out, vbd_op_name((enum vbd_op)facts->incident.op));
}

/* "write of 64 bytes": address and key are not for everybody who may read an explanation. */
static void put_what(char *out, const struct vbd_facts *facts)
{
	const struct vbd_incident *incident = &facts->incident;
	size_t len;

	put_op(out, facts);
	len = strlen(out);
	if (len && incident->length_bytes)
		(void)snprintf(out + len, WORD_BYTES - len, " of %" PRIu64 " bytes",
			incident->length_bytes);
}

static void put_request(char *out, const struct vbd_facts *facts)
{
	if (facts->incident.transfer)
		(void)snprintf(out, WORD_BYTES, "transfer %" PRIu64, facts->incident.transfer);
}

static void put_waited(char *out, const struct vbd_facts *facts)
{
	char time[VBD_SPAN_TEXT_BYTES];

	if (facts->incident.waited_ms)
		put_text(out, vbd_span_text(facts->incident.waited_ms * VBD_NS_PER_MS, time));
}

static void put_rtt(char *out, const struct vbd_facts *facts)
{
	char time[VBD_SPAN_TEXT_BYTES];

	if (facts->rtt_ns)
		put_text(out, vbd_span_text(facts->rtt_ns, time));
}

static void put_patience(char *out, const struct vbd_facts *facts)
{
	char time[VBD_SPAN_TEXT_BYTES];
	uint64_t ms;

	if (vbd_facts_dead_peer_detect_ms(facts, &ms))
		put_text(out, vbd_span_text(ms * VBD_NS_PER_MS, time));
}

static void put_told(char *out, const struct vbd_facts *facts)
{
	struct vbd_rejection rejection;

	if (vbd_rejection_read(facts->incident.words, &rejection))
		put_text(out, rejection.text);
}

static void put_told_advice(char *out, const struct vbd_facts *facts)
{
	struct vbd_rejection rejection;

	if (vbd_rejection_read(facts->incident.words, &rejection))
		put_text(out, rejection.advice);
}

static void put_reject(char *out, const struct vbd_facts *facts)
{
	struct vbd_why why;

	if (vbd_why_find_reject((int)facts->incident.error.raw, &why))
		put_text(out, why.detail);
}

static void put_reject_advice(char *out, const struct vbd_facts *facts)
{
	struct vbd_why why;

	if (vbd_why_find_reject((int)facts->incident.error.raw, &why))
		put_text(out, why.hint);
}

/* "(EADDRINUSE)", "(IBV_WC_GENERAL_ERR, vendor_err 0)" */
static bool is_code(const char *text)
{
	return text[0] == ' ' && text[1] == '(' && isupper((unsigned char)text[2]) &&
	       isupper((unsigned char)text[3]);
}

/* Statuses and error numbers are told beside the cause. */
static void put_error(char *out, const struct vbd_facts *facts)
{
	size_t len = 0;

	for (const char *text = facts->incident.error.text; *text && len + 1 < WORD_BYTES;) {
		const char *end = is_code(text) ? strchr(text, ')') : NULL;

		if (end)
			text = end + 1;
		else
			out[len++] = *text++;
	}
	out[len] = '\0';
}

static void put_open(char *out, const struct vbd_facts *facts)
{
	const struct vbd_incident *incident = &facts->incident;

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

/* These signs show that the peer lives although it sends nothing. */
static void put_signs(char *out, const struct vbd_facts *facts)
{
	if (facts->incident.heartbeats)
		put_text(out, "nothing has failed here, and its device answers the heartbeats");
	else if (facts->answered)
		put_text(out, "nothing has failed here, and its RDMA device answers");
}

static void put_peer_op(char *out, const struct vbd_facts *facts)
{
	if (facts->peer_report.known && facts->peer_report.op >= 0)
		put_text(out, vbd_op_name((enum vbd_op)facts->peer_report.op));
}

static void put_peer_what(char *out, const struct vbd_facts *facts)
{
	size_t len;

	put_peer_op(out, facts);
	len = strlen(out);
	if (len && facts->peer_report.length_bytes)
		(void)snprintf(out + len, WORD_BYTES - len, " of %" PRIu64 " bytes",
			facts->peer_report.length_bytes);
}

static void put_peer_reason(char *out, const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;

	if (report->reason != VBD_REASON_NONE)
		put_text(out, vbd_reason_text(report->reason));
}

static void put_over(char *out, const struct vbd_facts *facts)
{
	if (facts->judged_over_bytes)
		(void)snprintf(out, WORD_BYTES, " by %" PRIu64 " bytes", facts->judged_over_bytes);
}

static const struct word {
	const char *name;
	const char *unknown;
	void (*put)(char *out, const struct vbd_facts *facts);
} words[] = {
#define WORD(name, unknown) {#name, unknown, put_##name},
	VBD_WORD_MAP(WORD)
#undef WORD
};

/* The placeholder that begins at @text; NULL if none does. */
static const struct word *word_at(const char *text)
{
	for (size_t i = 0; *text == '{' && i < VBD_ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i].name);

		if (strncmp(text + 1, words[i].name, len) == 0 && text[len + 1] == '}')
			return &words[i];
	}
	return NULL;
}

char *vbd_words_fill(const char *text, const struct vbd_facts *facts, char *buffer, size_t size)
{
	size_t at = 0;

	while (*text && at + 1 < size) {
		const struct word *word = word_at(text);
		char filled[WORD_BYTES] = "";

		if (!word) {
			buffer[at++] = *text++;
			continue;
		}
		word->put(filled, facts);
		(void)snprintf(buffer + at, size - at, "%s", *filled ? filled : word->unknown);
		at += strlen(buffer + at);
		text += strlen(word->name) + 2;
	}
	buffer[at] = '\0';
	return buffer;
}
