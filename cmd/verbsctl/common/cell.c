/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/view.h"

#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/json.h"

static char *dash(void)
{
	return vbd_ctl_format("-");
}

static bool has_two_members(const json_t *object, const char *a, const char *b)
{
	return json_object_size(object) == 2 && json_object_get(object, a) &&
	       json_object_get(object, b);
}

bool vbd_ctl_is_inner(const json_t *value)
{
	return json_is_object(value) && !has_two_members(value, "id", "name") &&
	       !has_two_members(value, "addr", "port");
}

static const json_t *reference_text(const json_t *reference)
{
	const json_t *name = vbd_ctl_json_at(reference, "name");

	return name ? name : vbd_ctl_json_at(reference, "id");
}

static char *cell_endpoint(const json_t *value)
{
	const char *addr = vbd_ctl_json_text(value, "addr");
	bool v6 = addr && strchr(addr, ':');

	if (!addr)
		return dash();
	return vbd_ctl_format(v6 ? "[%s]:%llu" : "%s:%llu", vbd_ctl_text_safe(addr),
		(unsigned long long)vbd_ctl_json_uint(value, "port"));
}

/* In one piece: a list of the server may be long. */
static char *cell_list(const json_t *value)
{
	char *text = NULL;
	size_t text_len = 0;
	FILE *out;

	if (json_array_size(value) == 0)
		return dash();
	out = vbd_ctl_must(open_memstream(&text, &text_len));
	for (size_t i = 0; i < json_array_size(value); i++)
		fprintf(out, "%s%s", i ? "," : "", vbd_ctl_cell_text(json_array_get(value, i)));
	(void)fclose(out);
	return vbd_ctl_keep(text, free);
}

char *vbd_ctl_cell_text(const json_t *value)
{
	if (json_is_string(value))
		return vbd_ctl_text_safe_bytes(json_string_value(value), json_string_length(value));
	if (!value || json_is_null(value))
		return dash();
	if (has_two_members(value, "id", "name"))
		return vbd_ctl_cell_text(reference_text(value));
	if (has_two_members(value, "addr", "port"))
		return cell_endpoint(value);
	if (json_is_array(value))
		return cell_list(value);
	return vbd_ctl_text_safe(
		vbd_ctl_keep(json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY), free));
}

static char *cell_count(const json_t *value)
{
	return vbd_ctl_format("%llu", (unsigned long long)vbd_ctl_json_uint(value, ""));
}

static char *cell_hex(const json_t *value)
{
	if (!json_is_integer(value))
		return dash();
	return vbd_ctl_format("0x%llx", (unsigned long long)json_integer_value(value));
}

static char *cell_bytes(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_text_of_bytes(vbd_ctl_json_uint(value, ""));
}

static char *cell_ns(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_text_of_ns(vbd_ctl_json_uint(value, ""));
}

static char *cell_ms(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_format("%.3f", (double)vbd_ctl_json_uint(value, "") / 1e6);
}

static char *cell_whole_ms(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_format("%llu ms", (unsigned long long)vbd_ctl_json_uint(value, ""));
}

/* In 5 characters or less: "17", "99.9K", "1023M" (powers of 1024). */
static char *cell_short(const json_t *value)
{
	static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};
	double count = json_number_value(value);
	size_t unit = 0;

	/* Rounded, 1023.5 would become "1024". */
	while (count >= 1023.5 && unit + 1 < VBD_ARRAY_LEN(units)) {
		count /= 1024;
		unit++;
	}
	return json_is_number(value)
		       ? vbd_ctl_format("%.*f%s", unit && count < 99.95 ? 1 : 0, count, units[unit])
		       : dash();
}

/* In 6 characters or less: "980ns", "12.3us", "1.50s". */
static char *cell_short_ns(const json_t *value)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double ns = json_number_value(value);
	size_t unit = 0;
	int digits = 0;

	while (ns >= 999.5 && unit + 1 < VBD_ARRAY_LEN(units)) {
		ns /= 1000;
		unit++;
	}
	if (unit && ns < 99.95)
		digits = ns >= 9.995 ? 1 : 2;
	return json_is_number(value) ? vbd_ctl_format("%.*f%s", digits, ns, units[unit]) : dash();
}

/* 0 to 1 as a percentage. */
static char *cell_share(const json_t *value)
{
	if (!json_is_number(value))
		return dash();
	return vbd_ctl_format("%.0f%%", json_number_value(value) * 100);
}

/* Without the last six digits, which are too many to read. */
static char *cell_time(const json_t *value)
{
	const char *text = json_string_value(value);
	uint64_t ns;

	if (!text || !vbd_ctl_parse_time(text, &ns))
		return vbd_ctl_cell_text(value);
	return vbd_ctl_text_safe(vbd_ctl_format("%.23sZ", text));
}

/* --- cells of several members ---------------------------------------------------------------- */

uint64_t vbd_ctl_payload_bytes(const json_t *counters, const char *operations)
{
	json_t *all = (json_t *)counters; /* jansson's loop takes no const */
	uint64_t sum = 0;
	const char *operation;
	json_t *of_one;

	json_object_foreach(all, operation, of_one)
	{
		if (vbd_ctl_is_word(operations, operation))
			sum += vbd_ctl_json_uint(of_one, "bytes");
	}
	return sum;
}

static char *cell_sent(const json_t *counters)
{
	return counters ? vbd_ctl_text_of_bytes(vbd_ctl_payload_bytes(counters, VBD_CTL_SENDS))
			: dash();
}

static char *cell_received(const json_t *counters)
{
	return counters ? vbd_ctl_text_of_bytes(vbd_ctl_payload_bytes(counters, VBD_CTL_RECEIVES))
			: dash();
}

/* Bytes of the transfer divided by its time on the wire. */
static char *cell_rate(const json_t *transfer)
{
	uint64_t wire_ns = vbd_ctl_json_uint(transfer, "wire_ns");
	uint64_t bytes = vbd_ctl_json_uint(transfer, "bytes_done");

	if (wire_ns == 0)
		return dash();
	return vbd_ctl_format(
		"%s/s", vbd_ctl_text_of_bytes((uint64_t)((double)bytes * 1e9 / (double)wire_ns)));
}

/* Time from created_at to ended_at, by which the server sorts too. */
static char *cell_span(const json_t *connection)
{
	const char *from = vbd_ctl_json_text(connection, "created_at");
	const char *to = vbd_ctl_json_text(connection, "ended_at");
	uint64_t from_ns, to_ns;

	if (!from || !to || !vbd_ctl_parse_time(from, &from_ns) ||
		!vbd_ctl_parse_time(to, &to_ns) || to_ns < from_ns)
		return dash();
	return vbd_ctl_text_of_span(to_ns - from_ns);
}

/* Names of the network interfaces behind a port, each once: operators know a port by them. */
static char *cell_netdevs(const json_t *port)
{
	const json_t *gids = vbd_ctl_json_at(port, "gids");
	const char *names = "";

	for (size_t i = 0; i < json_array_size(gids); i++) {
		const char *name = vbd_ctl_json_text(json_array_get(gids, i), "netdev");

		if (name && !vbd_ctl_is_word(names, name))
			names = vbd_ctl_format("%s%s%s", names, *names ? "," : "", name);
	}
	return *names ? vbd_ctl_text_safe(names) : dash();
}

/* "1 active, MTU 1024, eth0" for each port. */
static char *cell_ports(const json_t *ports)
{
	const char *text = "";

	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *port = json_array_get(ports, i);

		text = vbd_ctl_format("%s%s%s, %s", text, i ? "; " : "",
			vbd_ctl_fill(port, "{port_num} {state}, MTU {active_mtu_bytes}"),
			cell_netdevs(port));
	}
	return *text ? vbd_ctl_format("%s", text) : dash();
}

/* --- fields ---------------------------------------------------------------------------------- */

size_t vbd_ctl_cell_for(const char *name, vbd_ctl_cell_fn *ret_cell)
{
	static const struct {
		const char *tail;
		vbd_ctl_cell_fn cell;
	} units[] = {
		{"_at", cell_time},
		{"_bytes", cell_bytes},
		{"_ns", cell_ns},
		{"_ms", cell_whole_ms},
	};
	size_t len = strlen(name);

	for (size_t i = 0; i < VBD_ARRAY_LEN(units); i++) {
		size_t tail_len = strlen(units[i].tail);

		if (len >= tail_len && strcmp(name + len - tail_len, units[i].tail) == 0) {
			/* An MTU is one of five numbers, by which people know it. */
			*ret_cell = strstr(name, "mtu_bytes") ? vbd_ctl_cell_text : units[i].cell;
			return tail_len;
		}
	}
	*ret_cell = vbd_ctl_cell_text;
	if (vbd_ctl_is_word("lqpn rqpn qpn", name))
		*ret_cell = cell_hex;
	else if (vbd_ctl_is_word("bytes bytes_done bytes_moved bytes_per_s", name))
		*ret_cell = cell_bytes;
	else if (vbd_ctl_is_word("at now since", name))
		*ret_cell = cell_time;
	return 0;
}

void vbd_ctl_field_init(struct vbd_ctl_field *field, const char *text, size_t len)
{
	static const struct {
		const char *name;
		vbd_ctl_cell_fn cell;
		bool right;
	} formats[] = {
		{"bytes", cell_bytes, true},
		{"count", cell_count, true},
		{"endpoint", cell_endpoint, false},
		{"ms", cell_ms, true},
		{"ns", cell_ns, true},
		{"ports", cell_ports, false},
		{"rate", cell_rate, true},
		{"received", cell_received, true},
		{"sent", cell_sent, true},
		{"share", cell_share, true},
		{"short", cell_short, true},
		{"short_ns", cell_short_ns, true},
		{"span", cell_span, true},
		{"text", vbd_ctl_cell_text, false},
	};
	const char *dot;
	char *format;

	*field = (struct vbd_ctl_field){.path = vbd_ctl_format("%.*s", (int)len, text)};
	format = strchr(field->path, ':');
	if (format)
		*format++ = '\0';
	dot = strrchr(field->path, '.');
	(void)vbd_ctl_cell_for(dot ? dot + 1 : field->path, &field->cell);
	for (size_t i = 0; format && i < VBD_ARRAY_LEN(formats); i++) {
		if (strcmp(format, formats[i].name) != 0)
			continue;
		field->cell = formats[i].cell;
		field->right = formats[i].right;
	}
}

const json_t *vbd_ctl_field_value(const struct vbd_ctl_field *field, const json_t *object)
{
	return strchr(field->path, ',') ? object : vbd_ctl_json_at(object, field->path);
}

char *vbd_ctl_fill(const json_t *object, const char *text)
{
	const char *filled = "";
	struct vbd_ctl_field field;

	while (*text) {
		const char *brace = strchrnul(text, '{');
		const char *end = strchrnul(brace, '}');

		filled = vbd_ctl_format("%s%.*s", filled, (int)(brace - text), text);
		if (*brace) {
			vbd_ctl_field_init(&field, brace + 1, (size_t)(end - brace - 1));
			filled = vbd_ctl_format(
				"%s%s", filled, field.cell(vbd_ctl_field_value(&field, object)));
		}
		text = *end ? end + 1 : end;
	}
	return vbd_ctl_format("%s", filled);
}
