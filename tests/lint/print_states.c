/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints docs/states.md from the tables in the code. tests/lint/states compares the output with the
 * file.
 */
#include "base/status.h"
#include "rdma/conn/conn_fsm.h"
#include "rdma/data/rping_fsm.h"
#include "rdma/data/transfer_fsm.h"
#include "rdma/data/window_fsm.h"
#include "rdma/names/reason.h"
#include "rdma/ud/endpoint_fsm.h"
#include "rdma/ud/group_fsm.h"
#include "rdma/ud/peer_fsm.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Prints a text into a cell of a table. */
static void cell(const char *text)
{
	(void)printf(" ");
	for (; *text; text++) {
		if (*text == '|')
			(void)putchar('\\');
		(void)putchar(*text);
	}
	(void)printf(" |");
}

static void print_head(void)
{
	(void)printf("<!-- Made from the tables in the code: "
		     "cmake --build build/dev --target states. Not edited by hand. -->\n\n"
		     "# States, events, reasons and error codes\n\n"
		     "Everything here is drawn from the tables that the daemon runs on: "
		     "`rdma/conn/conn_fsm.c`, `rdma/data/transfer_fsm.c`,\n"
		     "`rdma/data/window_fsm.c`, `rdma/ud/endpoint_fsm.c`, `rdma/ud/peer_fsm.c`, "
		     "`rdma/ud/group_fsm.c`, "
		     "`rdma/data/rping_fsm.c`,\n`rdma/names/reason.h` and `base/status.h`.\n");
}

/* Connections. */

static bool is_made_by(enum vbd_conn_state state, enum vbd_conn_state next)
{
	if (state == next)
		return false;
	for (unsigned int e = 0; e < VBD_CONN_EVENT_COUNT; e++) {
		if (vbd_conn_rule(state, (enum vbd_conn_event)e)->next == next)
			return true;
	}
	return false;
}

static void print_conn_edges(enum vbd_conn_state state)
{
	for (unsigned int n = 0; n < VBD_CONN_STATE_COUNT; n++) {
		enum vbd_conn_state next = (enum vbd_conn_state)n;

		if (is_made_by(state, next))
			(void)printf("    %s --> %s\n", vbd_conn_state_name(state),
				vbd_conn_state_name(next));
	}
}

static void print_conn_states(void)
{
	(void)printf("\n## The states of a connection\n\n"
		     "| state | waits for | leads to |\n|---|---|---|\n");
	for (unsigned int s = 0; s < VBD_CONN_STATE_COUNT; s++) {
		enum vbd_conn_state state = (enum vbd_conn_state)s;
		const char *separator = " ";

		(void)printf("| `%s` |", vbd_conn_state_name(state));
		cell(vbd_conn_state_waits_for(state));
		for (unsigned int n = 0; n < VBD_CONN_STATE_COUNT; n++) {
			if (!is_made_by(state, (enum vbd_conn_state)n))
				continue;
			(void)printf(
				"%s`%s`", separator, vbd_conn_state_name((enum vbd_conn_state)n));
			separator = ", ";
		}
		(void)printf(" |\n");
	}
	(void)printf("\n```mermaid\nstateDiagram-v2\n"
		     "    [*] --> resolving_addr: POST /v1/connections\n"
		     "    [*] --> queued: POST /v1/connections, several\n"
		     "    [*] --> requested: a peer connects\n"
		     "    [*] --> awaiting_remote: POST /v1/connections, bringup manual\n");
	for (unsigned int s = 0; s < VBD_CONN_STATE_COUNT; s++)
		print_conn_edges((enum vbd_conn_state)s);
	(void)printf("    closed --> [*]\n    failed --> [*]\n```\n");
}

static bool same_rule(const struct vbd_conn_rule *a, const struct vbd_conn_rule *b)
{
	return a->next == b->next && a->action == b->action && strcmp(a->note, b->note) == 0;
}

/* Whether an earlier event of this state has the same row. */
static bool is_repeated(enum vbd_conn_state state, enum vbd_conn_event event)
{
	for (unsigned int e = 0; e < event; e++) {
		if (same_rule(vbd_conn_rule(state, (enum vbd_conn_event)e),
			    vbd_conn_rule(state, event)))
			return true;
	}
	return false;
}

static void print_conn_row(enum vbd_conn_state state, enum vbd_conn_event event)
{
	const struct vbd_conn_rule *rule = vbd_conn_rule(state, event);
	const char *separator = " ";

	(void)printf("|");
	for (unsigned int e = event; e < VBD_CONN_EVENT_COUNT; e++) {
		if (!same_rule(rule, vbd_conn_rule(state, (enum vbd_conn_event)e)))
			continue;
		(void)printf("%s`%s`", separator, vbd_conn_event_name((enum vbd_conn_event)e));
		separator = ", ";
	}
	if (rule->next == state)
		(void)printf(" | stays |");
	else
		(void)printf(" | `%s` |", vbd_conn_state_name(rule->next));
	(void)printf(" `%s` |", vbd_conn_action_name(rule->action));
	cell(rule->note);
	(void)printf("\n");
}

static void print_conn_rules(void)
{
	(void)printf(
		"\n## What each event does to a connection\n\n"
		"Every pair of state and event is decided. The state is set first, then the "
		"action runs; when it fails, the new\nstate meets `call_failed`. `ignore` does "
		"nothing, `refuse` answers a command with `wrong_state`, `count` adds to the\n"
		"errors after the first.\n");
	for (unsigned int s = 0; s < VBD_CONN_STATE_COUNT; s++) {
		enum vbd_conn_state state = (enum vbd_conn_state)s;

		(void)printf(
			"\n### %s\n\n| event | next state | action | why |\n|---|---|---|---|\n",
			vbd_conn_state_name(state));
		for (unsigned int e = 0; e < VBD_CONN_EVENT_COUNT; e++) {
			if (!is_repeated(state, (enum vbd_conn_event)e))
				print_conn_row(state, (enum vbd_conn_event)e);
		}
	}
}

static void print_reasons(void)
{
	(void)printf("\n## Why a connection ended\n\n"
		     "`end_code` of a connection, one of the codes below. The first cause stays. A "
		     "client that waited for the connection gets it as an error.\n\n"
		     "| code | ends | what it means |\n|---|---|---|\n");
	for (unsigned int r = VBD_REASON_NONE + 1; r < VBD_REASON_COUNT; r++) {
		enum vbd_reason reason = (enum vbd_reason)r;

		(void)printf("| `%s` | `%s` |", vbd_reason_name(reason),
			vbd_reason_clean(reason) ? "closed" : "failed");
		cell(vbd_reason_text(reason));
		(void)printf("\n");
	}
}

/* Transfers. */

static void print_transfers(void)
{
	(void)printf("\n## The states of a transfer\n\n"
		     "| state | event | next state | why |\n|---|---|---|---|\n");
	for (unsigned int s = 0; s < VBD_TRANSFER_STATE_COUNT; s++) {
		enum vbd_transfer_state state = (enum vbd_transfer_state)s;

		if (vbd_transfer_state_ended(state)) {
			(void)printf("| `%s` | all | stays | it has ended |\n",
				vbd_transfer_state_name(state));
			continue;
		}
		for (unsigned int e = 0; e < VBD_TRANSFER_EVENT_COUNT; e++) {
			enum vbd_transfer_event event = (enum vbd_transfer_event)e;
			const struct vbd_transfer_rule *rule = vbd_transfer_rule(state, event);

			(void)printf("| `%s` | `%s` |", vbd_transfer_state_name(state),
				vbd_transfer_event_name(event));
			if (rule->next == state)
				(void)printf(" stays |");
			else
				(void)printf(" `%s` |", vbd_transfer_state_name(rule->next));
			cell(rule->note);
			(void)printf("\n");
		}
	}
}

/* Memory windows. */

static const char *window_action_text(enum vbd_window_action action)
{
	static const char *const texts[] = {
		[VBD_WINDOW_DO_NOTHING] = "-",
		[VBD_WINDOW_DO_BIND] = "post the bind",
		[VBD_WINDOW_DO_UNBIND] = "post the revocation",
		[VBD_WINDOW_DO_FREE] = "free the window",
	};

	return texts[action];
}

static void print_windows(void)
{
	(void)printf(
		"\n## The states of a memory window\n\n"
		"| state | event | next state | what is done | why |\n|---|---|---|---|---|\n");
	for (unsigned int s = 0; s < VBD_WINDOW_STATE_COUNT; s++) {
		enum vbd_window_state state = (enum vbd_window_state)s;

		if (vbd_window_state_ended(state)) {
			(void)printf("| `%s` | all | stays | - | it has ended |\n",
				vbd_window_state_name(state));
			continue;
		}
		for (unsigned int e = 0; e < VBD_WINDOW_EVENT_COUNT; e++) {
			enum vbd_window_event event = (enum vbd_window_event)e;
			const struct vbd_window_rule *rule = vbd_window_rule(state, event);

			(void)printf("| `%s` | `%s` |", vbd_window_state_name(state),
				vbd_window_event_name(event));
			if (rule->next == state)
				(void)printf(" stays |");
			else
				(void)printf(" `%s` |", vbd_window_state_name(rule->next));
			cell(window_action_text(rule->action));
			cell(rule->note);
			(void)printf("\n");
		}
	}
}

/* Datagrams: three tables of the same shape. */

#define PRINT_TABLE(kind, KIND)                                                                 \
	static void print_##kind##_rows(void)                                                   \
	{                                                                                       \
		(void)printf("| state | event | next state | action | why |\n"                  \
			     "|---|---|---|---|---|\n");                                        \
		for (unsigned int s = 0; s < VBD_##KIND##_STATE_COUNT; s++) {                   \
			enum vbd_##kind##_state state = (enum vbd_##kind##_state)s;             \
                                                                                                \
			for (unsigned int e = 0; e < VBD_##KIND##_EVENT_COUNT; e++) {           \
				enum vbd_##kind##_event event = (enum vbd_##kind##_event)e;     \
				const struct vbd_##kind##_rule *rule =                          \
					vbd_##kind##_rule(state, event);                        \
				const char *next = vbd_##kind##_state_name(rule->next);         \
                                                                                                \
				(void)printf("| `%s` | `%s` |", vbd_##kind##_state_name(state), \
					vbd_##kind##_event_name(event));                        \
				cell(rule->next == state ? "stays" : next);                     \
				cell(vbd_##kind##_action_name(rule->action));                   \
				cell(rule->note);                                               \
				(void)printf("\n");                                             \
			}                                                                       \
		}                                                                               \
	}

PRINT_TABLE(endpoint, ENDPOINT)
PRINT_TABLE(peer, PEER)
PRINT_TABLE(group, GROUP)

static void print_datagrams(void)
{
	(void)printf("\n## The states of an endpoint\n\n");
	print_endpoint_rows();
	(void)printf("\n## The states of a peer\n\n"
		     "The API shows the first four as `resolving`.\n\n");
	print_peer_rows();
	(void)printf("\n## The states of a group's membership\n\n"
		     "The API shows the first two as `joining`.\n\n");
	print_group_rows();
}

/* rping. */

static void print_rping(void)
{
	(void)printf("\n## rping\n\n"
		     "Both sides of the protocol: the service `rping` is the server, and a "
		     "connection with `rping_client` is the client while a probe runs. The event "
		     "`message` is a message of the other side. The API does not show these "
		     "states.\n\n"
		     "| state | waits for | event | next | action | why |\n"
		     "|---|---|---|---|---|---|\n");
	for (unsigned int s = 0; s < VBD_RPING_STATE_COUNT; s++) {
		enum vbd_rping_state state = (enum vbd_rping_state)s;

		for (unsigned int e = 0; e < VBD_RPING_EVENT_COUNT; e++) {
			enum vbd_rping_event event = (enum vbd_rping_event)e;
			const struct vbd_rping_rule *rule = vbd_rping_rule(state, event);

			(void)printf("| `%s` |", vbd_rping_state_name(state));
			cell(vbd_rping_state_text(state));
			(void)printf(" `%s` |", vbd_rping_event_name(event));
			if (rule->next == state)
				(void)printf(" stays |");
			else
				(void)printf(" `%s` |", vbd_rping_state_name(rule->next));
			cell(vbd_rping_action_text(rule->action));
			cell(rule->note);
			(void)printf("\n");
		}
	}
}

/* Error codes. */

static void print_codes(void)
{
	(void)printf(
		"\n## Error codes\n\n"
		"`code` of every answer with `application/problem+json`. If what a request began "
		"fails while the request waits, the status is 424 whatever the code is: no client "
		"takes that for a refusal, and repeats it. 429 and 503 have `Retry-After`.\n\n"
		"| code | HTTP | what it means | what to do |\n|---|---|---|---|\n");
	for (unsigned int s = VBD_OK + 1; s < VBD_STATUS_COUNT; s++) {
		enum vbd_status status = (enum vbd_status)s;

		(void)printf("| `%s` | %u |", vbd_status_code(status), vbd_status_http(status));
		cell(vbd_status_text(status));
		cell(vbd_status_hint(status));
		(void)printf("\n");
	}
}

int main(void)
{
	print_head();
	print_conn_states();
	print_conn_rules();
	print_reasons();
	print_transfers();
	print_windows();
	print_datagrams();
	print_rping();
	print_codes();
	return 0;
}
