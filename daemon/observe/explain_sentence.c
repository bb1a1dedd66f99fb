/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of an explanation. */
#include "base/clock.h"
#include "base/addr.h"
#include "daemon/observe/explain.h"
#include "rdma/diagnose/words.h"

struct sentence {
	char *text;
	size_t room, len;
};

static void VBD_PRINTF(2, 3) add(struct sentence *sentence, const char *fmt, ...)
{
	va_list ap;
	int len;

	if (sentence->len >= sentence->room)
		return;
	va_start(ap, fmt);
	len = vsnprintf(sentence->text + sentence->len, sentence->room - sentence->len, fmt, ap);
	va_end(ap);
	sentence->len += len > 0 ? (size_t)len : 0;
}

static void add_peer(struct sentence *sentence, const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	char addr[VBD_ADDR_TEXT_BYTES];

	if (conn->peer.ss_family)
		add(sentence, " with %s port %u", vbd_addr_format(&conn->peer, addr),
			vbd_addr_port(&conn->peer));
	else if (connection->dst_addr)
		add(sentence, " with %s port %u", connection->dst_addr, connection->dst_port);
	if (*conn->device_name)
		add(sentence, " on %s", conn->device_name);
}

/* The cause often names the peer itself. */
static bool cause_names_peer(const struct vbd_explanation *explanation)
{
	const char *peer = explanation->facts.incident.peer;

	return explanation->diagnoses.count && *peer &&
	       strstr(explanation->diagnoses.items[0].text, peer);
}

static void add_end(struct sentence *sentence, const struct vbd_connection *connection,
	const struct vbd_explanation *explanation)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_diagnoses *diagnoses = &explanation->diagnoses;

	if (cause_names_peer(explanation)) {
		add(sentence, "It");
	} else {
		add(sentence, "The connection");
		add_peer(sentence, connection);
	}
	add(sentence, " %s",
		explanation->facts.open		 ? "is ending"
		: conn->state == VBD_CONN_FAILED ? "failed"
						 : "was closed");
	add(sentence, ": %s",
		diagnoses->count ? diagnoses->items[0].text : vbd_reason_text(conn->qp.reason));
}

/* The messages of the peer are the only sign that its program goes on. */
static void add_messages(struct sentence *sentence, const struct vbd_connection *connection)
{
	const struct vbd_inbox *inbox = &connection->inbox;
	char time[VBD_SPAN_TEXT_BYTES];

	if (connection->conn->params.qp.service != VBD_SERVICE_INBOX)
		return;
	if (inbox->last_seq)
		add(sentence, "; the last message of the peer came %s ago",
			vbd_span_text(vbd_clock_mono_ns() - inbox->last_received_ns, time));
	else
		add(sentence, "; the peer has sent no message yet");
}

static void add_alive(struct sentence *sentence, const struct vbd_connection *connection,
	const struct vbd_explanation *explanation)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_findings *findings = &explanation->findings;
	size_t grave = 0;

	while (grave < findings->count &&
		vbd_finding_severity(findings->items[grave].code) != VBD_FINDING_IS_INFO)
		grave++;
	add(sentence, "It is %s", vbd_conn_state_name(conn->state));
	if (!cause_names_peer(explanation))
		add_peer(sentence, connection);
	if (explanation->diagnoses.count) {
		add(sentence, ", but %s", explanation->diagnoses.items[0].text);
		return;
	}
	if (conn->state == VBD_CONN_ESTABLISHED) {
		add(sentence, ", and nothing has failed");
		add_messages(sentence, connection);
	} else {
		add(sentence, " and waits for %s", vbd_conn_state_waits_for(conn->state));
	}
	if (grave)
		add(sentence, "; %zu finding%s attention", grave, grave == 1 ? " needs" : "s need");
}

void vbd_explain_summarise(
	const struct vbd_connection *connection, struct vbd_explanation *explanation)
{
	/* Leave room for the full stop. */
	struct sentence sentence = {
		.text = explanation->summary, .room = sizeof(explanation->summary) - 1};

	if (connection->conn->qp.reason != VBD_REASON_NONE)
		add_end(&sentence, connection, explanation);
	else
		add_alive(&sentence, connection, explanation);
	(void)strcat(explanation->summary, "."); /* NOLINT: see above */
}
