/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/why.md from the tables in rdma/diagnose and daemon/core/event_types.h. */
#include "base/status.h"
#include "daemon/core/event_types.h"
#include "rdma/diagnose/judge.h"
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

static VBD_ENUM_COLUMN(const char *, kind_heading, enum vbd_why_kind, VBD_WHY_KIND_MAP, 3)

	static void put_kind(enum vbd_why_kind kind)
{
	struct vbd_why why;

	(void)printf("\n## %s\n\n| name | %s | it means | likely causes | what to do |\n"
		     "|---|---|---|---|---|\n",
		kind_heading(kind), kind == VBD_WHY_PROBLEM ? "HTTP status" : "number");
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

/* The usual text, and how it is with each clue on which it depends. */
static void put_row_text(const char *text)
{
	char usual[2 * VBD_VERDICT_BYTES], other[2 * VBD_VERDICT_BYTES];

	(void)vbd_words_usual(text, 0, usual, sizeof(usual));
	put_text(usual, strlen(usual));
	for (unsigned int i = 0; i < VBD_CLUE_COUNT; i++) {
		(void)vbd_words_usual(text, VBD_CLUE_BIT(i), other, sizeof(other));
		if (strcmp(other, usual) == 0)
			continue;
		(void)printf("<br>or: ");
		put_text(other, strlen(other));
	}
}

static void put_diagnoses(void)
{
	(void)printf("\n## Causes of a failure or a long wait\n\n"
		     "Each row is a possible cause of a failure or of a long wait. `GET "
		     "/v1/connections/{ref}/explain` returns the best\nsupported one as `cause`, "
		     "and others as `possible_causes`. The first line of `verbsctl explain` is "
		     "the text of `cause`, with the\nvalues of the connection in place of the "
		     "names in braces. The codes are stable. The last column names the test "
		     "that provokes\nthe failure: in a guest, or in a unit test where no device of "
		     "the lab can fail like that.\n\n"
		     "In addition, 142 failures were provoked in guests as an operator meets "
		     "them: firewalls, cables, routes, lossy paths, wrong\nkeys, peers that are "
		     "stopped, killed or not verbsd. In 75 of them the first line named only the "
		     "true cause, in 52 the true\ncause among others, and in 15 a wrong cause. "
		     "After corrections, the same failures gave 102, 37 and 3.\n\n"
		     "| code | the first line says | what to do first | provoked by |\n"
		     "|---|---|---|---|\n");
	for (unsigned int i = 0; i < VBD_CAUSE_COUNT; i++) {
		enum vbd_cause_code code = (enum vbd_cause_code)i;

		(void)printf("| `%s` | ", vbd_cause_rows[code].name);
		put_row_text(vbd_cause_rows[code].text);
		(void)printf(" | ");
		put_row_text(vbd_cause_rows[code].advice);
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
		put_text(vbd_finding_rows[code].advice, strlen(vbd_finding_rows[code].advice));
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
	(void)printf("\n## Event types\n\n"
		     "The types of events in the event log (`GET /v1/events`), and the members of "
		     "their `data`:\n");
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
		"<!-- Drawn from rdma/diagnose/why.c and rdma/diagnose/judge.c: cmake "
		"--build build/dev "
		"--target why -->\n"
		"# Why\n\n"
		"Each event, status, state and problem code with its meaning, its likely causes, "
		"and what to do. `GET /v1/glossary` and\n`verbsctl glossary show NAME` have the "
		"same texts.\n");
	put_diagnoses();
	for (unsigned int kind = 0; kind < VBD_WHY_KIND_COUNT; kind++)
		put_kind((enum vbd_why_kind)kind);
	put_findings();
	put_event_types();
	return 0;
}
