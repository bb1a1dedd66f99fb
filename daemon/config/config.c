/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config.h"

#include "base/addr.h"
#include "base/enum.h"
#include "base/text.h"
#include "daemon/config/config_parts.h"

#include <assert.h>
#include <ctype.h>

static bool name_ends_with(const struct vbd_config_key *key, const char *end)
{
	size_t len = strlen(key->name);

	return len > strlen(end) && strcmp(key->name + len - strlen(end), end) == 0;
}

/* Parse a number in the unit that the end of the key's name says. Returns NULL, or what @value
 * should have been. */
static const char *parse_quantity(
	const struct vbd_config_key *key, const char *value, uint64_t *ret_number)
{
	if (isdigit((unsigned char)value[0]) && value[strspn(value, "0123456789")] == '\0') {
		errno = 0;
		*ret_number = strtoull(value, NULL, 10);
		if (errno)
			*ret_number = UINT64_MAX;
		return NULL;
	}
	if (name_ends_with(key, "_bytes"))
		return vbd_parse_size(value, ret_number)
			       ? NULL
			       : "a number of bytes, as in 4096, 64K or 1G";
	if (name_ends_with(key, "_ms"))
		return vbd_parse_duration(value, "ms", ret_number)
			       ? NULL
			       : "a number of milliseconds or a time, as in 500, 500ms, 5s or 1m";
	return "a whole number";
}

static enum vbd_status set_number(
	const struct vbd_config_key *key, void *member, const char *value, struct vbd_error *err)
{
	uint64_t number = 0;
	const char *wanted = parse_quantity(key, value, &number);

	if (wanted)
		return vbd_error_input(err, VBD_E_WRONG_TYPE, key->name, "%s: '%.40s' is not %s",
			key->name, value, wanted);
	if (number < key->min || number > key->max)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, key->name,
			"%s: %.40s is not between %llu and %llu", key->name, value,
			(unsigned long long)key->min, (unsigned long long)key->max);
	*(uint64_t *)member = number;
	return VBD_OK;
}

/* Permissions in octal, without those to execute, which a socket has no use for. */
static enum vbd_status set_mode(
	const struct vbd_config_key *key, void *member, const char *value, struct vbd_error *err)
{
	size_t len = strlen(value);
	uint64_t mode;

	if (len < 3 || len > 4 || strspn(value, "01234567") != len)
		return vbd_error_input(err, VBD_E_WRONG_TYPE, key->name,
			"%s: '%.40s' is not a mode of three or four octal digits, as in 0660",
			key->name, value);
	mode = strtoull(value, NULL, 8);
	if (mode & ~key->max)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, key->name,
			"%s: %.40s has more than the permissions to read and write", key->name,
			value);
	*(uint64_t *)member = mode;
	return VBD_OK;
}

static enum vbd_status set_text(
	const struct vbd_config_key *key, void *member, const char *value, struct vbd_error *err)
{
	if (strlen(value) >= key->size_bytes)
		return vbd_error_input(err, VBD_E_TOO_LONG, key->name,
			"%s: longer than %zu characters", key->name, key->size_bytes - 1);
	if (!vbd_utf8_line(value, strlen(value)))
		return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
			"%s: has a control character, or is not UTF-8", key->name);
	memset(member, 0, key->size_bytes);
	(void)snprintf(member, key->size_bytes, "%s", value);
	return VBD_OK;
}

/* Copy the next item of a list with commas, and return the text behind it; NULL if it is too
 * long. */
static const char *copy_next_item(const char *value, char *item, size_t size)
{
	size_t len = strcspn(value, ",");

	if (len >= size)
		return NULL;
	memcpy(item, value, len);
	item[len] = '\0';
	return value + len + (value[len] == ',');
}

/* Split "HOST:PORT" or "[HOST]:PORT". */
static bool split_host_and_port(const char *value, char host[80], uint16_t *ret_port)
{
	const char *colon = strrchr(value, ':');
	size_t host_len;

	if (!colon || !isdigit((unsigned char)colon[1]) ||
		colon[1 + strspn(colon + 1, "0123456789")] != '\0' || strlen(colon + 1) > 5 ||
		strtoul(colon + 1, NULL, 10) > 65535)
		return false;
	*ret_port = (uint16_t)strtoul(colon + 1, NULL, 10);
	host_len = (size_t)(colon - value);
	if (host_len > 2 && value[0] == '[' && colon[-1] == ']') {
		value++;
		host_len -= 2;
	} else if (memchr(value, ':', host_len)) {
		return false; /* the port of an IPv6 address without brackets is ambiguous */
	}
	if (host_len == 0 || host_len >= 80)
		return false;
	memcpy(host, value, host_len);
	host[host_len] = '\0';
	return true;
}

static const char *parse_scheme(const char *text, enum vbd_config_scheme *ret_scheme)
{
	static const char http[] = "http://";
	static const char https[] = "https://";

	*ret_scheme = VBD_CONFIG_SCHEME_DEFAULT;
	if (strncmp(text, http, strlen(http)) == 0) {
		*ret_scheme = VBD_CONFIG_SCHEME_HTTP;
		return text + strlen(http);
	}
	if (strncmp(text, https, strlen(https)) == 0) {
		*ret_scheme = VBD_CONFIG_SCHEME_HTTPS;
		return text + strlen(https);
	}
	return text;
}

static bool parse_listen(const char *text, void *ret_listen)
{
	struct vbd_config_listen listen = {0};
	const char *where = parse_scheme(text, &listen.scheme);
	char host[80];
	uint16_t port;

	if (strlen(text) >= sizeof(listen.text) || !split_host_and_port(where, host, &port) ||
		!vbd_addr_is_own(host) || !vbd_addr_parse(host, port, &listen.addr))
		return false;
	(void)snprintf(listen.text, sizeof(listen.text), "%s", text);
	listen.addr_bytes = (socklen_t)vbd_sockaddr_bytes((const struct sockaddr *)&listen.addr);
	*(struct vbd_config_listen *)ret_listen = listen;
	return true;
}

static bool parse_host(const char *text, void *ret_host)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]";

	(void)snprintf(ret_host, VBD_HOST_BYTES, "%s", text);
	return text[0] && strspn(text, allowed) == strlen(text);
}

static enum vbd_status set_list(
	const struct vbd_config_key *key, void *member, const char *value, struct vbd_error *err)
{
	const struct vbd_config_list *list = key->list;
	size_t most = key->size_bytes / list->item_bytes;
	size_t *count = (size_t *)(void *)((char *)member + list->count_at);

	memset(member, 0, key->size_bytes);
	for (*count = 0; *value; (*count)++) {
		char text[VBD_HOST_BYTES];
		const char *next = copy_next_item(value, text, sizeof(text));

		if (*count == most)
			return vbd_error_input(err, VBD_E_TOO_LONG, key->name,
				"%s: more than %zu %s", key->name, most, list->items);
		if (!next || !list->parse(text, (char *)member + *count * list->item_bytes))
			return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
				"%s: '%.80s' is not %s", key->name, next ? text : value,
				list->wanted);
		value = next;
	}
	return VBD_OK;
}

static enum vbd_status set_cpus(
	const struct vbd_config_key *key, void *member, const char *value, struct vbd_error *err)
{
	if (vbd_cpus_parse(value, member))
		return VBD_OK;
	return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
		"%s: '%.80s' is not a list of at most %d processors, as in 0,2-5", key->name, value,
		VBD_CPUS_MAX);
}

static enum vbd_status set_enum(
	const struct vbd_config_key *key, void *member, const char *value, struct vbd_error *err)
{
	for (unsigned int i = 0; key->words[i]; i++) {
		if (strcmp(key->words[i], value) != 0)
			continue;
		*(unsigned int *)member = i;
		return VBD_OK;
	}
	return vbd_error_input(err, VBD_E_BAD_VALUE, key->name, "%s: '%.40s' is not %s", key->name,
		value, key->told);
}

static enum vbd_status set_flag(
	const struct vbd_config_key *key, void *member, const char *value, struct vbd_error *err)
{
	bool on = strcmp(value, "true") == 0;

	if (!on && strcmp(value, "false") != 0)
		return vbd_error_input(err, VBD_E_WRONG_TYPE, key->name,
			"%s: '%.40s' is not true or false", key->name, value);
	*(bool *)member = on;
	return VBD_OK;
}

/* --- printing -------------------------------------------------------------------------------- */

static void print_quoted(const char *text, FILE *out)
{
	(void)fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

static void print_number(const struct vbd_config_key *key, const void *member, FILE *out)
{
	(void)key;
	(void)fprintf(out, "%" PRIu64, *(const uint64_t *)member);
}

static void print_mode(const struct vbd_config_key *key, const void *member, FILE *out)
{
	(void)key;
	(void)fprintf(out, "%04" PRIo64, *(const uint64_t *)member);
}

static void print_text(const struct vbd_config_key *key, const void *member, FILE *out)
{
	(void)key;
	print_quoted(member, out);
}

static void print_flag(const struct vbd_config_key *key, const void *member, FILE *out)
{
	(void)key;
	(void)fputs(*(const bool *)member ? "true" : "false", out);
}

static void print_list(const struct vbd_config_key *key, const void *member, FILE *out)
{
	const char *items = member;
	size_t count = *(const size_t *)(const void *)(items + key->list->count_at);
	bool is_text = key->list->may_be_text && count == 1;

	(void)fputs(is_text ? "" : "[", out);
	for (size_t i = 0; i < count; i++) {
		(void)fputs(i ? ", " : "", out);
		print_quoted(items + i * key->list->item_bytes, out);
	}
	(void)fputs(is_text ? "" : "]", out);
}

static void print_cpus(const struct vbd_config_key *key, const void *member, FILE *out)
{
	(void)key;
	print_quoted(((const struct vbd_cpus *)member)->text, out);
}

static void print_enum(const struct vbd_config_key *key, const void *member, FILE *out)
{
	(void)fputs(key->words[*(const unsigned int *)member], out);
}

/* --- the keys -------------------------------------------------------------------------------- */

static const char *const client_certificates[] = {
	[VBD_CLIENT_CERTIFICATE_NONE] = "none",
	[VBD_CLIENT_CERTIFICATE_OPTIONAL] = "optional",
	[VBD_CLIENT_CERTIFICATE_REQUIRED] = "required",
	NULL,
};
static const char *const log_formats[] = {
	[VBD_LOG_TEXT] = "text",
	[VBD_LOG_JSON] = "json",
	[VBD_LOG_JOURNAL] = "journal",
	NULL,
};
static const char *const log_levels[] = {VBD_LOG_LEVEL_MAP(VBD_ENUM_NAME) NULL};

static const struct vbd_config_list addresses = {
	.item_bytes = sizeof(struct vbd_config_listen),
	.count_at = offsetof(struct vbd_config, listen_count) - offsetof(struct vbd_config, listen),
	.parse = parse_listen,
	.items = "addresses",
	.wanted = "ADDRESS:PORT or [IPV6-ADDRESS]:PORT, in numbers, alone or behind http:// or "
		  "https://",
	.may_be_text = true,
};

static const struct vbd_config_list hosts = {
	.item_bytes = VBD_HOST_BYTES,
	.count_at = offsetof(struct vbd_config, allowed_hosts_count) -
		    offsetof(struct vbd_config, allowed_hosts),
	.parse = parse_host,
	.items = "hosts",
	.wanted = "a host name or address",
};

static const struct vbd_config_type number = {set_number, print_number};
static const struct vbd_config_type mode = {set_mode, print_mode};
static const struct vbd_config_type text = {set_text, print_text};
static const struct vbd_config_type flag = {set_flag, print_flag};
static const struct vbd_config_type list = {set_list, print_list};
static const struct vbd_config_type cpus = {set_cpus, print_cpus};
static const struct vbd_config_type word = {set_enum, print_enum};

/* The beginning of a row: the name of the key is that of its member. */
#define KEY(type_, member_, text_)                                 \
	.name = #member_, .type = &(type_), .default_text = text_, \
	.offset = offsetof(struct vbd_config, member_),            \
	.size_bytes = sizeof(((struct vbd_config *)NULL)->member_)
#define NUMBER(member, text, min_, max_) KEY(number, member, text), .min = min_, .max = max_
#define LIVE				 .is_live = true

/* The only list of the keys. A key "limits.NAME" is written as NAME below `limits:` in a file. The
 * keys of a section are consecutive. */
/* clang-format off */
const struct vbd_config_key vbd_config_keys[] = {
	{KEY(list, listen, "127.0.0.1:7480"), .list = &addresses},
	{KEY(text, unix_socket, "")},
	{KEY(text, unix_socket_group, "")},
	{KEY(mode, unix_socket_mode, "0660"), .max = 0666},
	{KEY(text, control_token_file, ""), LIVE},
	{KEY(text, read_token_file, ""), LIVE},
	{KEY(flag, insecure, "false")},
	{KEY(flag, fault_injection, "false")},
	{KEY(flag, peer_reports, "true")},
	{KEY(text, callers_file, ""), LIVE},
	{KEY(text, control_group, ""), LIVE},
	{KEY(text, operate_group, ""), LIVE},
	{KEY(text, read_group, ""), LIVE},
	{KEY(list, allowed_hosts, ""), .list = &hosts},
	{NUMBER(workers, "1", 1, 64)},
	{KEY(cpus, cpu_affinity, "")},
	{NUMBER(connects_in_flight, "64", 1, 65536)},
	{NUMBER(default_cqe, "4096", 16, 4194304)},
	{KEY(word, log_level, "info"), LIVE, .words = log_levels,
		.told = "error, warning, notice, info or debug"},
	{KEY(word, log_format, "text"), .words = log_formats, .told = "text, json or journal"},
	{KEY(text, audit_file, "")},
	{KEY(text, state_dir, "")},
	{NUMBER(drain_timeout_ms, "2000", 1, 60000), LIVE},
	{NUMBER(shutdown_timeout_ms, "8000", 1, 600000), LIVE},
	{KEY(text, tls.certificate, ""), LIVE},
	{KEY(text, tls.key, ""), LIVE},
	{KEY(text, tls.client_ca, ""), LIVE},
	{KEY(text, tls.client_crl, ""), LIVE},
	{KEY(word, tls.client_certificate, "optional"), LIVE, .words = client_certificates,
		.told = "none, optional or required"},
#define RECORDS(name, text, min, max) {NUMBER(records.name, text, min, max)},
	VBD_RECORDS_MAP(RECORDS)
#undef RECORDS
/* limits.http_connections is not live: libmicrohttpd gets the number when it starts. */
#define IS_LIVE(member) \
	(offsetof(struct vbd_config, member) != offsetof(struct vbd_config, limits.http_connections))
#define LIMIT(name, text, min, max) \
	{NUMBER(limits.name, text, min, max), .is_live = IS_LIVE(limits.name)},
	VBD_LIMIT_MAP(LIMIT)
#undef LIMIT
};
/* clang-format on */

const size_t vbd_config_key_count = VBD_ARRAY_LEN(vbd_config_keys);

const char *vbd_config_short_name(const char *key)
{
	const char *point = strchr(key, '.');

	return point ? point + 1 : key;
}

/* The key whose name, or whose name in its section, is most like @name; NULL if none is. */
static const struct vbd_config_key *most_similar_key(const char *name)
{
	struct vbd_similar similar = {.word = name};
	const struct vbd_config_key *like = NULL;

	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const struct vbd_config_key *key = &vbd_config_keys[i];
		const char *before = similar.like;

		vbd_similar_try(&similar, key->name);
		vbd_similar_try(&similar, vbd_config_short_name(key->name));
		if (similar.like != before)
			like = key;
	}
	return like;
}

static enum vbd_status refuse_key(const char *name, struct vbd_error *err)
{
	const struct vbd_config_key *like = most_similar_key(name);

	return vbd_error_input(err, VBD_E_UNKNOWN_FIELD, name, "%.80s: unknown key%s%s%s", name,
		VBD_DID_YOU_MEAN(like ? like->name : NULL));
}

const struct vbd_config_key *vbd_config_find_key(const char *name)
{
	for (size_t i = 0; i < vbd_config_key_count; i++) {
		if (strcmp(vbd_config_keys[i].name, name) == 0)
			return &vbd_config_keys[i];
	}
	return NULL;
}

static enum vbd_status set_key(struct vbd_config *config, const struct vbd_config_key *key,
	const char *value, struct vbd_error *err)
{
	return key->type->set(key, (char *)config + key->offset, value, err);
}

enum vbd_status vbd_config_set(
	struct vbd_config *config, const char *key, const char *value, struct vbd_error *err)
{
	const struct vbd_config_key *found = vbd_config_find_key(key);
	struct vbd_config changed = *config;
	enum vbd_status status =
		found ? set_key(&changed, found, value, err) : refuse_key(key, err);

	if (status == VBD_OK)
		*config = changed;
	return status;
}

void vbd_config_init(struct vbd_config *ret_config)
{
	enum vbd_status status = VBD_OK;

	memset(ret_config, 0, sizeof(*ret_config));
	ret_config->unix_socket_gid = (gid_t)-1;
	for (size_t i = 0; i < vbd_config_key_count && status == VBD_OK; i++)
		status = set_key(
			ret_config, &vbd_config_keys[i], vbd_config_keys[i].default_text, NULL);
	assert(status == VBD_OK);
}

void vbd_config_dump(const struct vbd_config *config, FILE *out)
{
	const char *before = "";

	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const char *key = vbd_config_keys[i].name;
		const char *name = vbd_config_short_name(key);
		int section_len = (int)(name - key);

		if (strncmp(key, before, (size_t)section_len) != 0)
			(void)fprintf(out, "%.*s:\n", section_len - 1, key);
		before = key;
		(void)fprintf(out, "%s%s: ", section_len ? "  " : "", name);
		vbd_config_keys[i].type->print(
			&vbd_config_keys[i], (const char *)config + vbd_config_keys[i].offset, out);
		(void)fputc('\n', out);
	}
}
