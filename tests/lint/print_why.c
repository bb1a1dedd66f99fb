/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/why.md from the tables in rdma/diagnose/why.c and rdma/diagnose/finding.c. */
#include "rdma/diagnose/finding.h"
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

	(void)printf("\n## %s\n\n| name | number | it means | likely causes | what to do |\n"
		     "|---|---|---|---|---|\n",
		vbd_why_kind_heading(kind));
	for (size_t i = 0; vbd_why_at(i, &why); i++) {
		if (why.kind != kind)
			continue;
		(void)printf("| `%s` | %d | ", why.name, why.number);
		put_text(why.meaning, strlen(why.meaning));
		(void)printf(" | ");
		put_causes(why.causes);
		(void)printf(" | ");
		put_text(why.advice, strlen(why.advice));
		(void)printf(" |\n");
	}
}

static void put_findings(void)
{
	(void)printf("\n## Findings\n\n"
		     "Findings in the facts of a connection, or of the path to a destination: "
		     "`findings` in\n`GET /v1/connections/{ref}/explain` and `GET "
		     "/v1/explain?dst=`. The codes are stable.\n\n"
		     "| code | severity | found when | what to do |\n|---|---|---|---|\n");
	for (unsigned int i = 0; i < VBD_FINDING_COUNT; i++) {
		enum vbd_finding_code code = (enum vbd_finding_code)i;

		(void)printf("| `%s` | %s | ", vbd_finding_name(code),
			vbd_finding_severity_name(vbd_finding_severity(code)));
		put_text(vbd_finding_when(code), strlen(vbd_finding_when(code)));
		(void)printf(" | ");
		put_text(vbd_finding_advice(code), strlen(vbd_finding_advice(code)));
		(void)printf(" |\n");
	}
}

int main(void)
{
	(void)printf("<!-- Drawn from rdma/diagnose/why.c and rdma/diagnose/finding.c: cmake "
		     "--build build/dev "
		     "--target why -->\n"
		     "# Why\n\n"
		     "Every event, status and reason of a connection: what it means, its likely "
		     "causes, and what to do. The\nsame text is in `GET /v1/explain` and `verbsctl "
		     "glossary show NAME`.\n");
	for (unsigned int kind = 0; kind < VBD_WHY_KIND_COUNT; kind++)
		put_kind((enum vbd_why_kind)kind);
	put_findings();
	return 0;
}
