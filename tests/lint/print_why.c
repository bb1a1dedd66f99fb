/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/why.md from the tables in rdma/diagnose and daemon/core/event_types.h. */
#include "base/status.h"
#include "daemon/core/event_types.h"
#include "rdma/diagnose/cause.h"
#include "rdma/diagnose/facts.h"
#include "rdma/diagnose/why.h"

#include <stdio.h>
#include <string.h>

/* A bar would end the cell of the table. */
static void put_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '|')
			(void)putchar('\\');
		(void)putchar(text[i]);
	}
}

static void put_causes(const char *causes)
{
	while (*causes) {
		const char *end = strstr(causes, "; ");
		size_t len = end ? (size_t)(end - causes) : strlen(causes);

		put_text(causes, len);
		(void)printf("%s", end ? "<br>" : "");
		causes += len + (end ? 2 : 0);
	}
}

static void put_kind(enum vbd_why_kind kind)
{
	struct vbd_why why;

	(void)printf("\n## %s\n\n| name | %s | it means | likely causes | what to do |\n"
		     "|---|---|---|---|---|\n",
		vbd_why_kind_heading(kind), kind == VBD_WHY_PROBLEM ? "HTTP status" : "number");
	for (size_t i = 0; vbd_why_at(i, &why); i++) {
		if (why.kind != kind)
			continue;
		(void)printf("| `%s` | %u | ", why.name,
			kind == VBD_WHY_PROBLEM ? vbd_status_http((enum vbd_status)why.number)
						: (unsigned int)why.number);
		put_text(why.detail, strlen(why.detail));
		(void)printf(" | ");
		put_causes(why.causes);
		(void)printf(" | ");
		put_text(why.hint, strlen(why.hint));
		(void)printf(" |\n");
	}
}

static void put_diagnoses(void)
{
	(void)printf(
		"\n## Causes of a failure or a long wait\n\n"
		"`cause` and `possible_causes` in `GET /v1/connections/{ref}/explain`. The "
		"best supported one is the\nfirst line of `verbsctl explain`, with the values "
		"of the connection in place of the names in braces.\nThe codes are stable. "
		"Each row is staged by a test; a unit test where no device of the lab can "
		"fail like that, and why.\n\n"
		"The rows were judged four times by failures that are not those of "
		"their tests, staged in guests as an operator\nmeets them (firewalls, "
		"cables, routes, slow and lossy ways, wrong keys, peers that are "
		"stopped, killed or not\nverbsd): does the first line name the true "
		"cause, is it vague (the cause is one of several that it names), or\nis "
		"it wrong? The first 37 were 22 true, 12 vague and 3 wrong, and 27, 9 "
		"and 1 when the rows were mended. Of 45\nothers 21 were true, 21 vague "
		"and 3 wrong; after more facts 32, 12 and 1. Of 30 others 16 were "
		"true, 9 vague\nand 5 wrong, and 20, 10 and none when the rows were mended."
		"\n\nThe last 30 were chosen, with their true causes, and judged by one who had "
		"not read these rows: 16 first lines named the\ntrue cause alone, 5 named it "
		"among others that nothing on this host tells apart, and how to find out, 5 "
		"were vague\nand 4 wrong (a full backlog while other requests were under "
		"way, two path MTUs, memory closed under iWARP, a cgroup\nthat lets "
		"librdmacm open no device). Facts and rows came for eight of these, and all 30 "
		"ran again: 23 alone, 6 among\nothers, and one wrong, whose words were "
		"mended after that (`forgotten_there`, for a program that is no verbsd). The\n"
		"verdicts of the second run are by the authors. The seven that are not alone: a "
		"program that is stopped or has a full\nbacklog, a request refused under "
		"iWARP, a killed program that is no verbsd, a wrong PSN on the side that "
		"sends, a\nfirewall on the other host, a link that is down there, and a host "
		"without power.\n"
		"\n"
		"| code | the first line says | what to do first | staged by |\n"
		"|---|---|---|---|\n");
	for (unsigned int i = 0; i < VBD_CAUSE_COUNT; i++) {
		enum vbd_cause_code code = (enum vbd_cause_code)i;

		(void)printf("| `%s` | ", vbd_cause_rows[code].name);
		put_text(vbd_cause_rows[code].text, strlen(vbd_cause_rows[code].text));
		(void)printf(" | ");
		put_text(vbd_cause_rows[code].advice, strlen(vbd_cause_rows[code].advice));
		(void)printf(" | %s |\n", vbd_cause_rows[code].staged);
	}
}

static void put_findings(void)
{
	(void)printf("\n## Findings\n\n"
		     "Findings in the facts of a connection, or of the path to a destination: "
		     "`findings` in\n`GET /v1/connections/{ref}/explain` and `GET "
		     "/v1/reachability`. The codes are stable.\n\n"
		     "| code | severity | found when | what to do |\n|---|---|---|---|\n");
	for (unsigned int i = 0; i < VBD_FINDING_COUNT; i++) {
		enum vbd_finding_code code = (enum vbd_finding_code)i;

		(void)printf("| `%s` | %s | ", vbd_finding_rows[code].name,
			vbd_finding_severity_name(vbd_finding_rows[code].severity));
		put_text(vbd_finding_rows[code].when, strlen(vbd_finding_rows[code].when));
		(void)printf(" | ");
		put_text(vbd_finding_rows[code].hint, strlen(vbd_finding_rows[code].hint));
		(void)printf(" |\n");
	}
}

static void put_members(enum vbd_event_type type)
{
	for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++) {
		enum vbd_event_word word = (enum vbd_event_word)i;

		if (vbd_event_type_has(type, word))
			(void)printf("`%s` ", vbd_event_word_name(word));
	}
	if (vbd_event_type_has_port(type))
		(void)printf("`%s` ", VBD_EVENT_PORT_NUM);
}

static void put_event_types(void)
{
	(void)printf(
		"\n## Event types\n\n"
		"What the event log (`GET /v1/events`) tells, and the members of `data` of such "
		"an event:\n");
	for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++)
		(void)printf("`%s` is the %s;\n", vbd_event_word_name((enum vbd_event_word)i),
			vbd_event_word_text((enum vbd_event_word)i));
	(void)printf("`%s` is the port of the device.\n\n"
		     "| type | it means | members of `data` |\n|---|---|---|\n",
		VBD_EVENT_PORT_NUM);
	for (unsigned int i = 0; i < VBD_EVENT_TYPE_COUNT; i++) {
		enum vbd_event_type type = (enum vbd_event_type)i;

		(void)printf(
			"| `%s` | %s | ", vbd_event_type_name(type), vbd_event_type_text(type));
		put_members(type);
		(void)printf("|\n");
	}
}

int main(void)
{
	(void)printf(
		"<!-- Drawn from rdma/diagnose/why.c and rdma/diagnose/facts.c: cmake "
		"--build build/dev "
		"--target why -->\n"
		"# Why\n\n"
		"Every event, status, state and problem code: what it means, its likely "
		"causes, and what to do. The\nsame text is in `GET /v1/glossary` and `verbsctl "
		"glossary show NAME`.\n");
	put_diagnoses();
	for (unsigned int kind = 0; kind < VBD_WHY_KIND_COUNT; kind++)
		put_kind((enum vbd_why_kind)kind);
	put_findings();
	put_event_types();
	return 0;
}
