/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config.h"

#include "base/addr.h"
#include "base/enum.h"
#include "base/text.h"
#include "daemon/config/config_parts.h"

#include <assert.h>
#include <ctype.h>

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

/* The beginning of a row: the name of the key is that of its member. */
#define KEY(kind_, member_, text_)                                           \
	.name = #member_, .kind = VBD_CONFIG_##kind_, .default_text = text_, \
	.offset = offsetof(struct vbd_config, member_),                      \
	.size_bytes = sizeof(((struct vbd_config *)NULL)->member_)
#define NUMBER(member, text, min_, max_)                            \
	{                                                           \
		KEY(NUMBER, member, text), .min = min_, .max = max_ \
	}
#define TEXT(member, text)                                                                  \
	{                                                                                   \
		KEY(TEXT, member, text), .max = sizeof(((struct vbd_config *)NULL)->member) \
	}

/* The only list of the keys. A key "limits.NAME" is written as NAME below `limits:` in a file. The
 * keys of a section are consecutive. */
/* clang-format off */
const struct vbd_config_key vbd_config_keys[] = {
	{KEY(LISTEN, listen, "127.0.0.1:7480")},
	TEXT(unix_socket, ""),
	TEXT(unix_socket_group, ""),
	{KEY(MODE, unix_socket_mode, "0660"), .max = 0666},
	TEXT(control_token_file, ""),
	TEXT(read_token_file, ""),
	{KEY(FLAG, insecure, "false")},
	{KEY(FLAG, fault_injection, "false")},
	{KEY(FLAG, peer_reports, "true")},
	TEXT(callers_file, ""),
	TEXT(control_group, ""),
	TEXT(operate_group, ""),
	TEXT(read_group, ""),
	{KEY(HOSTS, allowed_hosts, "")},
	NUMBER(workers, "1", 1, 64),
	{KEY(CPUS, cpu_affinity, "")},
	NUMBER(connects_in_flight, "64", 1, 65536),
	NUMBER(default_cqe, "4096", 16, 4194304),
	{KEY(WORD, log_level, "info"), .words = log_levels,
		.words_told = "error, warning, notice, info or debug"},
	{KEY(WORD, log_format, "text"), .words = log_formats, .words_told = "text, json or journal"},
	TEXT(audit_file, ""),
	TEXT(state_dir, ""),
	NUMBER(drain_timeout_ms, "2000", 1, 60000),
	NUMBER(shutdown_timeout_ms, "8000", 1, 600000),
	TEXT(tls.certificate, ""),
	TEXT(tls.key, ""),
	TEXT(tls.client_ca, ""),
	TEXT(tls.client_crl, ""),
	{KEY(WORD, tls.client_certificate, "optional"), .words = client_certificates,
		.words_told = "none, optional or required"},
#define RECORDS(name, text, min, max) NUMBER(records.name, text, min, max),
	VBD_RECORDS_MAP(RECORDS)
#undef RECORDS
#define LIMIT(name, text, min, max) NUMBER(limits.name, text, min, max),
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

static bool name_ends_with(const struct vbd_config_key *key, const char *end)
{
	size_t len = strlen(key->name);

	return len > strlen(end) && strcmp(key->name + len - strlen(end), end) == 0;
}

/* Parse a number in the unit that the end of the key's name says. Returns what @value should have
 * been, or NULL. */
static const char *parse_number(
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

static enum vbd_status set_number(const struct vbd_config_key *key, uint64_t *ret_number,
	const char *value, struct vbd_error *err)
{
	uint64_t number = 0;
	const char *wanted = parse_number(key, value, &number);

	if (wanted)
		return vbd_error_input(err, VBD_E_WRONG_TYPE, key->name, "%s: '%.40s' is not %s",
			key->name, value, wanted);
	if (number < key->min || number > key->max)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, key->name,
			"%s: %.40s is not between %llu and %llu", key->name, value,
			(unsigned long long)key->min, (unsigned long long)key->max);
	*ret_number = number;
	return VBD_OK;
}

/* Permissions in octal. A socket has no use for those to execute, and nobody asks for more bits. */
static enum vbd_status set_mode(const struct vbd_config_key *key, uint64_t *ret_mode,
	const char *value, struct vbd_error *err)
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
	*ret_mode = mode;
	return VBD_OK;
}

static enum vbd_status check_text(
	const struct vbd_config_key *key, const char *value, struct vbd_error *err)
{
	if (strlen(value) >= key->max)
		return vbd_error_input(err, VBD_E_TOO_LONG, key->name,
			"%s: longer than %llu characters", key->name,
			(unsigned long long)key->max - 1);
	if (!vbd_utf8_line(value, strlen(value)))
		return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
			"%s: has a control character, or is not UTF-8", key->name);
	return VBD_OK;
}

static enum vbd_status set_text(
	const struct vbd_config_key *key, char *text, const char *value, struct vbd_error *err)
{
	enum vbd_status status = check_text(key, value, err);

	if (status == VBD_OK)
		(void)snprintf(text, key->max, "%s", value);
	return status;
}

/* Copy the next of the texts that commas separate and return the text behind it; NULL if it is too
 * long. */
static const char *next_item(const char *value, char *item, size_t size)
{
	size_t len = strcspn(value, ",");

	if (len >= size)
		return NULL;
	memcpy(item, value, len);
	item[len] = '\0';
	return value + len + (value[len] == ',');
}

/* Split "HOST:PORT" or "[HOST]:PORT". */
static bool split_port(const char *value, char host[80], uint16_t *ret_port)
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

static const char *take_scheme(const char *text, enum vbd_config_scheme *ret_scheme)
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

static bool parse_listen(const char *text, struct vbd_config_listen *ret_listen)
{
	struct vbd_config_listen listen = {0};
	const char *where = take_scheme(text, &listen.scheme);
	char host[80];
	uint16_t port;

	if (strlen(text) >= sizeof(listen.text) || !split_port(where, host, &port) ||
		!vbd_addr_is_own(host) || !vbd_addr_parse(host, port, &listen.addr))
		return false;
	(void)snprintf(listen.text, sizeof(listen.text), "%s", text);
	listen.addr_bytes = (socklen_t)vbd_sockaddr_bytes((const struct sockaddr *)&listen.addr);
	*ret_listen = listen;
	return true;
}

static enum vbd_status set_listen(const struct vbd_config_key *key, struct vbd_config *config,
	const char *value, struct vbd_error *err)
{
	struct vbd_config_listen listen[VBD_LISTEN_MAX] = {0};
	size_t count = 0;

	while (*value) {
		char item[sizeof(listen[0].text)];
		const char *next = next_item(value, item, sizeof(item));

		if (count == VBD_LISTEN_MAX)
			return vbd_error_input(err, VBD_E_TOO_LONG, key->name,
				"%s: more than %d addresses", key->name, VBD_LISTEN_MAX);
		if (!next || !parse_listen(item, &listen[count]))
			return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
				"%s: '%.80s' is not ADDRESS:PORT or [IPV6-ADDRESS]:PORT, in "
				"numbers, alone or behind http:// or https://",
				key->name, next ? item : value);
		count++;
		value = next;
	}
	memcpy(config->listen, listen, sizeof(listen));
	config->listen_count = count;
	return VBD_OK;
}

static bool host_valid(const char *host)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]";

	return host[0] && strspn(host, allowed) == strlen(host);
}

static enum vbd_status set_hosts(const struct vbd_config_key *key, struct vbd_config *config,
	const char *value, struct vbd_error *err)
{
	char hosts[VBD_ALLOWED_HOSTS_MAX][sizeof(config->allowed_hosts[0])] = {0};
	size_t count = 0;

	while (*value) {
		char item[sizeof(hosts[0])];
		const char *next = next_item(value, item, sizeof(item));

		if (!next || !host_valid(item))
			return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
				"%s: '%.64s' is not a host name or address", key->name,
				next ? item : value);
		if (count == VBD_ALLOWED_HOSTS_MAX)
			return vbd_error_input(err, VBD_E_TOO_LONG, key->name,
				"%s: more than %d hosts", key->name, VBD_ALLOWED_HOSTS_MAX);
		memcpy(hosts[count++], item, strlen(item));
		value = next;
	}
	memcpy(config->allowed_hosts, hosts, sizeof(hosts));
	config->allowed_hosts_count = count;
	return VBD_OK;
}

static enum vbd_status set_cpus(const struct vbd_config_key *key, struct vbd_cpus *cpus,
	const char *value, struct vbd_error *err)
{
	if (vbd_cpus_parse(value, cpus))
		return VBD_OK;
	return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
		"%s: '%.80s' is not a list of at most %d processors, as in 0,2-5", key->name, value,
		VBD_CPUS_MAX);
}

static enum vbd_status set_word(const struct vbd_config_key *key, unsigned int *word,
	const char *value, struct vbd_error *err)
{
	for (unsigned int i = 0; key->words[i]; i++) {
		if (strcmp(key->words[i], value) != 0)
			continue;
		*word = i;
		return VBD_OK;
	}
	return vbd_error_input(err, VBD_E_BAD_VALUE, key->name, "%s: '%.40s' is not %s", key->name,
		value, key->words_told);
}

static enum vbd_status set_flag(
	const struct vbd_config_key *key, bool *flag, const char *value, struct vbd_error *err)
{
	bool on = strcmp(value, "true") == 0;

	if (!on && strcmp(value, "false") != 0)
		return vbd_error_input(err, VBD_E_WRONG_TYPE, key->name,
			"%s: '%.40s' is not true or false", key->name, value);
	*flag = on;
	return VBD_OK;
}

static enum vbd_status set_key(struct vbd_config *config, const struct vbd_config_key *key,
	const char *value, struct vbd_error *err)
{
	void *member = (char *)config + key->offset;

	switch (key->kind) {
	case VBD_CONFIG_NUMBER:
		return set_number(key, member, value, err);
	case VBD_CONFIG_MODE:
		return set_mode(key, member, value, err);
	case VBD_CONFIG_TEXT:
		return set_text(key, member, value, err);
	case VBD_CONFIG_FLAG:
		return set_flag(key, member, value, err);
	case VBD_CONFIG_LISTEN:
		return set_listen(key, config, value, err);
	case VBD_CONFIG_HOSTS:
		return set_hosts(key, config, value, err);
	case VBD_CONFIG_CPUS:
		return set_cpus(key, member, value, err);
	case VBD_CONFIG_WORD:
		return set_word(key, member, value, err);
	}
	return vbd_error_set(err, VBD_E_INTERNAL, "%s: has no kind", key->name);
}

/* The key whose name, or whose name in its section, is most like @name; NULL if none is. */
static const struct vbd_config_key *key_like(const char *name)
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
	const struct vbd_config_key *like = key_like(name);

	return vbd_error_input(err, VBD_E_UNKNOWN_FIELD, name, "%.80s: unknown key%s%s%s", name,
		VBD_DID_YOU_MEAN(like ? like->name : NULL));
}

static const struct vbd_config_key *find_key(const char *name)
{
	for (size_t i = 0; i < vbd_config_key_count; i++) {
		if (strcmp(vbd_config_keys[i].name, name) == 0)
			return &vbd_config_keys[i];
	}
	return NULL;
}

enum vbd_config_kind vbd_config_kind_of(const char *key)
{
	const struct vbd_config_key *found = find_key(key);

	return found ? found->kind : VBD_CONFIG_TEXT;
}

enum vbd_status vbd_config_set(
	struct vbd_config *config, const char *key, const char *value, struct vbd_error *err)
{
	const struct vbd_config_key *found = find_key(key);

	return found ? set_key(config, found, value, err) : refuse_key(key, err);
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
