/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/words.h"

#include "base/clock.h"
#include "base/text.h"
#include "rdma/device/mem.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/why.h"
#include "rdma/names/rejection.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>

/* The longest text that takes the place of a placeholder. */
#define WORD_BYTES 240

const char *vbd_span_text(uint64_t ns, char text[VBD_SPAN_TEXT_BYTES])
{
	bool long_span = ns >= VBD_NS_PER_S;
	uint64_t unit_ns = long_span ? VBD_NS_PER_S : VBD_NS_PER_MS;
	const char *unit = long_span ? "s" : "ms";

	if (ns >= 10 * unit_ns)
		(void)snprintf(text, VBD_SPAN_TEXT_BYTES, "%" PRIu64 " %s", ns / unit_ns, unit);
	else
		(void)snprintf(text, VBD_SPAN_TEXT_BYTES, "%.*f %s", long_span ? 1 : 2,
			(double)ns / (double)unit_ns, unit);
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
static const char *find_clause(const char *text, vbd_clue_set clues)
{
#define CLAUSE(name, clue, clause, usual) \
	is_word_at(text, #name) ? clues &VBD_CLUE_BIT(VBD_CLUE_##clue) ? (clause) : (usual):
	return VBD_CLAUSE_MAP(CLAUSE) NULL;
#undef CLAUSE
}

/* Fill the clauses, and unless @facts is NULL the words as well. Returns the length. */
static size_t fill(const char *text, vbd_clue_set clues, const struct vbd_facts *facts,
	char *buffer, size_t size)
{
	size_t at = 0;

	while (*text && at + 1 < size) {
		char word[WORD_BYTES] = "";
		const char *clause = *text == '{' ? find_clause(text, clues) : NULL;

		if (clause)
			at += fill(clause, clues, facts, buffer + at, size - at);
		else if (facts && *text == '{' && put_word(text, facts, word))
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

char *vbd_words_usual(const char *text, vbd_clue_set clues, char *buffer, size_t size)
{
	(void)fill(text, clues, NULL, buffer, size);
	return buffer;
}

char *vbd_words_fill(const char *text, const struct vbd_facts *facts, char *buffer, size_t size)
{
	(void)fill(text, vbd_clues_find(facts), facts, buffer, size);
	return buffer;
}
