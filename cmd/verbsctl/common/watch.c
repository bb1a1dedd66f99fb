/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/watch.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"

static json_t *text_taken(char *text)
{
	json_t *value = vbd_ctl_must(json_string(text));

	free(text);
	return value;
}

static json_t *row_of(const char *name, json_t *value, long long change, double per_second)
{
	json_t *row = vbd_ctl_must(json_object());

	vbd_ctl_json_set(row, "name", vbd_ctl_must(json_string(name)));
	vbd_ctl_json_set(row, "value", json_incref(value));
	vbd_ctl_json_set(row, "change", text_taken(vbd_ctl_format("%+lld", change)));
	vbd_ctl_json_set(row, "per_second", text_taken(vbd_ctl_format("%+.1f", per_second)));
	return row;
}

json_t *vbd_ctl_watch_changes(
	json_t *first, json_t *before, json_t *now, double seconds, bool lately)
{
	json_t *rows = vbd_ctl_must(json_array());
	const char *name;
	json_t *value;

	json_object_foreach(now, name, value)
	{
		json_t *oldest = json_object_get(first, name);
		json_t *old = json_object_get(before, name);
		json_int_t step = json_integer_value(value) - json_integer_value(old);
		json_int_t change = json_integer_value(value) - json_integer_value(oldest);

		if (!json_is_integer(value) || !json_is_integer(old) || !json_is_integer(oldest) ||
			strcmp(name, "uptime_ms") == 0)
			continue;
		if (lately ? step == 0 : step == 0 && change == 0)
			continue;
		if (json_array_append_new(rows, row_of(name, value, lately ? step : change,
							(double)step / seconds)) < 0)
			vbd_ctl_must(NULL);
	}
	return rows;
}
