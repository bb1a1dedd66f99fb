/* SPDX-License-Identifier: Apache-2.0 */
/* history. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

static char *cell_sent(const json_t *counters)
{
	return vbd_ctl_text_of_bytes(vbd_ctl_sent_bytes(counters));
}

static char *cell_received(const json_t *counters)
{
	return vbd_ctl_text_of_bytes(vbd_ctl_received_bytes(counters));
}

/* Time from created_at to ended_at, by which the server sorts too. */
static char *cell_duration(const json_t *connection)
{
	const char *from = vbd_ctl_json_text(connection, "created_at");
	const char *to = vbd_ctl_json_text(connection, "ended_at");
	uint64_t from_ns, to_ns;

	if (!from || !to || !vbd_ctl_parse_time(from, &from_ns) ||
		!vbd_ctl_parse_time(to, &to_ns) || to_ns < from_ns)
		return vbd_ctl_cell_text(NULL);
	return vbd_ctl_text_of_span(to_ns - from_ns);
}

static const struct vbd_ctl_column history_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_TIME("ENDED", "ended_at"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_TEXT("END-CODE", "end_code"),
	{"DURATION", "", cell_duration, VBD_CTL_COLUMN_RIGHT, "created_at,ended_at"},
	VBD_CTL_ENDPOINT("PEER", "peer"),
	{"SENT", "counters", cell_sent, VBD_CTL_COLUMN_RIGHT, NULL},
	{"RECV", "counters", cell_received, VBD_CTL_COLUMN_RIGHT, NULL},
	VBD_CTL_WIDE("EARLIER-RUN", "server_id"), VBD_CTL_WIDE("ERROR", "error.detail")};

enum vbd_ctl_exit vbd_ctl_history(struct vbd_ctl *ctl)
{
	const char *sorted = ctl->args.text[VBD_CTL_OPT_HISTORY_SORT];

	return vbd_ctl_list(ctl,
		sorted ? "/v1/connections?state=ended"
		       : "/v1/connections?state=ended&sort=-ended_at",
		history_columns, VBD_ARRAY_LEN(history_columns));
}
