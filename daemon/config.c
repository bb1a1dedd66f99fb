/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config.h"

#include "base/attr.h"

#include <cyaml/cyaml.h>

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES (64 * 1024)
#define FILE_MAX_LINES 2000
#define TIB	       (1ULL << 40)

enum kind {
	KIND_NUMBER, /* uint64_t, from min to max */
	KIND_TEXT,   /* char[max] */
	KIND_LISTEN, /* char[max], and the address made of it */
	KIND_HOSTS,
	KIND_LOG_LEVEL,
	KIND_LOG_FORMAT,
};

struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	const char *default_text;
	uint64_t min;
	uint64_t max;
};

#define OFFSET(member) offsetof(struct vbd_config, member)
#define NUMBER(member, text, min, max)                                   \
	{                                                                \
#member, KIND_NUMBER, OFFSET(member), text, (min), (max) \
	}
#define TEXT(kind, member, text)                                    \
	{                                                           \
#member, kind, OFFSET(member), text, 0,             \
			sizeof(((struct vbd_config *)NULL)->member) \
	}

/* The only list of the keys. What begins with "limits." stands below `limits:` in a file. */
static const struct key keys[] = {
	TEXT(KIND_LISTEN, listen, "127.0.0.1:7480"),
	TEXT(KIND_TEXT, unix_socket, ""),
	TEXT(KIND_TEXT, control_token_file, ""),
	TEXT(KIND_TEXT, read_token_file, ""),
	{"allowed_hosts", KIND_HOSTS, OFFSET(allowed_hosts), "", 0, 0},
	NUMBER(workers, "1", 1, 64),
	NUMBER(cq_depth, "4096", 16, 4194304),
	{"log_level", KIND_LOG_LEVEL, OFFSET(log_level), "info", 0, 0},
	{"log_format", KIND_LOG_FORMAT, OFFSET(log_format), "text", 0, 0},
	NUMBER(drain_timeout_ms, "2000", 1, 60000),
	NUMBER(shutdown_timeout_ms, "8000", 1, 600000),
	NUMBER(history, "1000", 0, 1000000),
	NUMBER(transfers_kept, "1000", 0, 1000000),
	NUMBER(probes_kept, "100", 0, 1000000),
	NUMBER(benchmarks_kept, "100", 0, 1000000),
	NUMBER(events, "16384", 16, 16777216),
	NUMBER(limits.connections, "10000", 1, 1000000),
	NUMBER(limits.listeners, "256", 1, 65536),
	NUMBER(limits.buffers, "4096", 1, 1000000),
	NUMBER(limits.buffer_bytes, "17179869184", 4096, TIB),
	NUMBER(limits.pinned_bytes, "68719476736", 4096, 1024 * TIB),
	NUMBER(limits.messages_bytes, "4294967296", 4096, 1024 * TIB),
	NUMBER(limits.transfers, "10000", 1, 1000000),
	NUMBER(limits.pds, "1024", 1, 1000000),
	NUMBER(limits.cqs, "1024", 1, 1000000),
	NUMBER(limits.srqs, "1024", 1, 1000000),
	NUMBER(limits.windows, "4096", 1, 1000000),
	NUMBER(limits.endpoints, "1000", 1, 1000000),
	NUMBER(limits.peers, "10000", 1, 1000000),
	NUMBER(limits.groups, "1000", 1, 1000000),
	NUMBER(limits.http_clients, "256", 8, 65536),
	NUMBER(limits.http_body_bytes, "262144", 1024, 16777216),
	NUMBER(limits.long_polls, "128", 1, 65536),
	NUMBER(limits.event_streams, "64", 1, 65536),
	NUMBER(limits.metrics_connections, "1000", 1, 10000),
	NUMBER(limits.idempotency_keys, "1000", 1, 1000000),
};

#define KEY_COUNT VBD_ARRAY_LEN(keys)

static const char limits_prefix[] = "limits.";
static const char *const log_formats[] = {
	[VBD_LOG_TEXT] = "text",
	[VBD_LOG_JSON] = "json",
	[VBD_LOG_JOURNAL] = "journal",
};

static void *member_of(struct vbd_config *config, const struct key *key)
{
	return (char *)config + key->offset;
}

static const void *const_member_of(const struct vbd_config *config, const struct key *key)
{
	return (const char *)config + key->offset;
}

static enum vbd_status set_number(
	const struct key *key, uint64_t *ret_number, const char *value, struct vbd_error *err)
{
	unsigned long long number;

	if (!isdigit((unsigned char)value[0]) || value[strspn(value, "0123456789")] != '\0')
		return vbd_error_input(err, VBD_E_WRONG_TYPE, key->name,
			"%s: '%.40s' is not a whole number", key->name, value);
	errno = 0;
	number = strtoull(value, NULL, 10);
	if (errno || number < key->min || number > key->max)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, key->name,
			"%s: %.40s is not between %llu and %llu", key->name, value,
			(unsigned long long)key->min, (unsigned long long)key->max);
	*ret_number = number;
	return VBD_OK;
}

static enum vbd_status check_text(const struct key *key, const char *value, struct vbd_error *err)
{
	if (strlen(value) >= key->max)
		return vbd_error_input(err, VBD_E_TOO_LONG, key->name,
			"%s: longer than %llu characters", key->name,
			(unsigned long long)key->max - 1);
	for (const char *c = value; *c; c++) {
		if (iscntrl((unsigned char)*c))
			return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
				"%s: has a control character", key->name);
	}
	return VBD_OK;
}

static enum vbd_status set_text(
	const struct key *key, char *text, const char *value, struct vbd_error *err)
{
	enum vbd_status status = check_text(key, value, err);

	if (status == VBD_OK)
		(void)snprintf(text, key->max, "%s", value);
	return status;
}

/* "HOST:PORT" or "[HOST]:PORT" in two. */
static bool split_listen(const char *value, char host[80], char port[8])
{
	const char *colon = strrchr(value, ':');
	size_t host_len;

	/* getaddrinfo(3) takes a port modulo 65536. */
	if (!colon || !isdigit((unsigned char)colon[1]) ||
		colon[1 + strspn(colon + 1, "0123456789")] != '\0' || strlen(colon + 1) > 5 ||
		strtoul(colon + 1, NULL, 10) > 65535)
		return false;
	(void)snprintf(port, 8, "%s", colon + 1);
	host_len = (size_t)(colon - value);
	if (host_len > 2 && value[0] == '[' && colon[-1] == ']') {
		value++;
		host_len -= 2;
	} else if (memchr(value, ':', host_len)) {
		return false; /* an IPv6 address without brackets has no port that one could tell */
	}
	if (host_len == 0 || host_len >= 80)
		return false;
	memcpy(host, value, host_len);
	host[host_len] = '\0';
	return true;
}

static enum vbd_status set_listen(
	const struct key *key, struct vbd_config *config, const char *value, struct vbd_error *err)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	struct addrinfo *found = NULL;
	char host[80];
	char port[8];
	enum vbd_status status = check_text(key, value, err);

	if (status != VBD_OK)
		return status;
	if (value[0] != '\0') {
		if (!split_listen(value, host, port) ||
			getaddrinfo(host, port, &hints, &found) != 0)
			return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
				"%s: '%s' is not ADDRESS:PORT or [IPV6-ADDRESS]:PORT, in numbers",
				key->name, value);
		memcpy(&config->listen_addr, found->ai_addr, found->ai_addrlen);
	}
	config->listen_addr_bytes = found ? found->ai_addrlen : 0;
	freeaddrinfo(found);
	(void)snprintf(config->listen, sizeof(config->listen), "%s", value);
	return VBD_OK;
}

static bool host_valid(const char *host, size_t len)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]";

	return len > 0 && len < sizeof(((struct vbd_config *)NULL)->allowed_hosts[0]) &&
	       strspn(host, allowed) >= len;
}

static enum vbd_status set_hosts(
	const struct key *key, struct vbd_config *config, const char *value, struct vbd_error *err)
{
	char hosts[VBD_ALLOWED_HOSTS_MAX][sizeof(config->allowed_hosts[0])] = {0};
	size_t count = 0;

	while (*value) {
		size_t len = strcspn(value, ",");

		if (!host_valid(value, len))
			return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
				"%s: '%.*s' is not a host name or address", key->name,
				len < 64 ? (int)len : 64, value);
		if (count == VBD_ALLOWED_HOSTS_MAX)
			return vbd_error_input(err, VBD_E_TOO_LONG, key->name,
				"%s: more than %d hosts", key->name, VBD_ALLOWED_HOSTS_MAX);
		memcpy(hosts[count++], value, len);
		value += len;
		value += *value == ',' ? 1 : 0;
	}
	memcpy(config->allowed_hosts, hosts, sizeof(hosts));
	config->allowed_hosts_count = count;
	return VBD_OK;
}

static enum vbd_status set_log_level(
	const struct key *key, enum vbd_log_level *level, const char *value, struct vbd_error *err)
{
	if (vbd_log_level_parse(value, level))
		return VBD_OK;
	return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
		"%s: '%.40s' is not error, warning, notice, info or debug", key->name, value);
}

static enum vbd_status set_log_format(const struct key *key, enum vbd_log_format *format,
	const char *value, struct vbd_error *err)
{
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(log_formats); i++) {
		if (strcmp(log_formats[i], value) == 0) {
			*format = (enum vbd_log_format)i;
			return VBD_OK;
		}
	}
	return vbd_error_input(err, VBD_E_BAD_VALUE, key->name,
		"%s: '%.40s' is not text, json or journal", key->name, value);
}

static enum vbd_status set_key(
	struct vbd_config *config, const struct key *key, const char *value, struct vbd_error *err)
{
	void *member = member_of(config, key);

	switch (key->kind) {
	case KIND_NUMBER:
		return set_number(key, member, value, err);
	case KIND_TEXT:
		return set_text(key, member, value, err);
	case KIND_LISTEN:
		return set_listen(key, config, value, err);
	case KIND_HOSTS:
		return set_hosts(key, config, value, err);
	case KIND_LOG_LEVEL:
		return set_log_level(key, member, value, err);
	case KIND_LOG_FORMAT:
		return set_log_format(key, member, value, err);
	}
	return vbd_error_set(err, VBD_E_INTERNAL, "%s: has no kind", key->name);
}

enum vbd_status vbd_config_set(
	struct vbd_config *config, const char *key, const char *value, struct vbd_error *err)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i].name, key) == 0)
			return set_key(config, &keys[i], value, err);
	}
	return vbd_error_input(err, VBD_E_UNKNOWN_FIELD, key, "%.80s: unknown key", key);
}

void vbd_config_init(struct vbd_config *ret_config)
{
	enum vbd_status status = VBD_OK;

	memset(ret_config, 0, sizeof(*ret_config));
	for (size_t i = 0; i < KEY_COUNT && status == VBD_OK; i++)
		status = set_key(ret_config, &keys[i], keys[i].default_text, NULL);
	assert(status == VBD_OK);
}

/*
 * A file is read into texts, absent keys being NULL, and each text takes the way of
 * vbd_config_set(): there is one place that knows what a value may be.
 */
struct file_texts {
	char *values[KEY_COUNT]; /* by index in keys[] */
	char **hosts;
	unsigned int hosts_count;
	struct limit_texts {
		char *values[KEY_COUNT];
	} * limits;
};

static const cyaml_schema_value_t host_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};

/* `limits:` and `allowed_hosts:` with nothing below them are fine, so that all of it may be a
 * comment. */
static const cyaml_schema_field_t text_field = CYAML_FIELD_STRING_PTR("",
	CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct file_texts, values[0], 0, CYAML_UNLIMITED);
static const cyaml_schema_field_t hosts_field =
	CYAML_FIELD_SEQUENCE("allowed_hosts", CYAML_FLAG_POINTER_NULL | CYAML_FLAG_OPTIONAL,
		struct file_texts, hosts, &host_schema, 0, 4 * VBD_ALLOWED_HOSTS_MAX);

static_assert(offsetof(struct file_texts, values) == offsetof(struct limit_texts, values),
	"text_field stands for both");

struct schema {
	cyaml_schema_field_t limits[KEY_COUNT + 1];
	cyaml_schema_field_t top[KEY_COUNT + 1];
	cyaml_schema_value_t root;
};

static const char *limit_name(const struct key *key)
{
	size_t len = sizeof(limits_prefix) - 1;

	return strncmp(key->name, limits_prefix, len) == 0 ? key->name + len : NULL;
}

static void make_schema(struct schema *schema)
{
	const cyaml_schema_field_t limits_field =
		CYAML_FIELD_MAPPING_PTR("limits", CYAML_FLAG_POINTER_NULL | CYAML_FLAG_OPTIONAL,
			struct file_texts, limits, schema->limits);
	const cyaml_schema_value_t root = {
		CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER_NULL, struct file_texts, schema->top)};
	cyaml_schema_field_t *limit = schema->limits;
	cyaml_schema_field_t *top = schema->top;

	memset(schema, 0, sizeof(*schema));
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const char *name = limit_name(&keys[i]);
		cyaml_schema_field_t *field = name ? limit++ : top++;

		if (keys[i].kind == KIND_HOSTS) {
			*field = hosts_field;
			continue;
		}
		*field = text_field;
		field->key = name ? name : keys[i].name;
		field->data_offset += (uint32_t)(i * sizeof(char *));
	}
	*top = limits_field;
	schema->root = root;
}

/* What libcyaml says: first the trouble, then where it was, from the inside out. */
struct complaint {
	char what[120];
	char key[80];
};

static void on_complaint(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
	VBD_PRINTF(3, 0);
static void on_complaint(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	static const char field_head[] = "  in mapping field '";
	static const char unknown_head[] = "Load: Unexpected key: ";
	struct complaint *complaint = ctx;
	char line[200];
	char outer[80];

	(void)level;
	(void)vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, field_head, strlen(field_head)) == 0) {
		char *name = line + strlen(field_head);

		name[strcspn(name, "'")] = '\0';
		(void)snprintf(outer, sizeof(outer), "%.38s%s%.38s", name,
			complaint->key[0] ? "." : "", complaint->key);
		(void)snprintf(complaint->key, sizeof(complaint->key), "%s", outer);
	} else if (strncmp(line, unknown_head, strlen(unknown_head)) == 0) {
		(void)snprintf(complaint->key, sizeof(complaint->key), "%.38s",
			line + strlen(unknown_head));
	} else if (complaint->what[0] == '\0' && !strstr(line, "Backtrace")) {
		(void)snprintf(complaint->what, sizeof(complaint->what), "%.100s",
			strncmp(line, "Load: ", 6) == 0 ? line + 6 : line);
	}
}

static enum vbd_status refuse(
	const struct complaint *complaint, cyaml_err_t rc, struct vbd_error *err)
{
	const char *key = complaint->key;
	const char *what = complaint->what[0] ? complaint->what : cyaml_strerror(rc);

	if (rc == CYAML_ERR_OOM)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to read it");
	if (rc == CYAML_ERR_INVALID_KEY)
		return vbd_error_input(err, VBD_E_UNKNOWN_FIELD, key, "%s: unknown key", key);
	return vbd_error_input(err, VBD_E_BAD_VALUE, key, "%s%s%s", key, key[0] ? ": " : "", what);
}

static enum vbd_status apply_hosts(
	struct vbd_config *config, const struct file_texts *texts, struct vbd_error *err)
{
	char joined[4096] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < texts->hosts_count; i++) {
		int n = snprintf(
			joined + len, sizeof(joined) - len, "%s%s", i ? "," : "", texts->hosts[i]);

		if (n < 0 || (size_t)n >= sizeof(joined) - len)
			return vbd_error_input(
				err, VBD_E_TOO_LONG, "allowed_hosts", "allowed_hosts: too long");
		len += (size_t)n;
	}
	return vbd_config_set(config, "allowed_hosts", joined, err);
}

static enum vbd_status apply_texts(
	struct vbd_config *config, const struct file_texts *texts, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (size_t i = 0; i < KEY_COUNT && status == VBD_OK; i++) {
		const char *value = texts->values[i];

		if (limit_name(&keys[i]))
			value = texts->limits ? texts->limits->values[i] : NULL;
		if (value)
			status = set_key(config, &keys[i], value, err);
	}
	if (status == VBD_OK && texts->hosts)
		status = apply_hosts(config, texts, err);
	return status;
}

static enum vbd_status apply_yaml(
	struct vbd_config *config, const char *yaml, size_t len_bytes, struct vbd_error *err)
{
	struct complaint complaint = {0};
	const cyaml_config_t how = {
		.log_fn = on_complaint,
		.log_ctx = &complaint,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	struct file_texts *texts = NULL;
	struct schema schema;
	enum vbd_status status = VBD_OK;
	cyaml_err_t rc;

	if (len_bytes == 0)
		return VBD_OK;
	make_schema(&schema);
	rc = cyaml_load_data((const uint8_t *)yaml, len_bytes, &how, &schema.root,
		(cyaml_data_t **)&texts, NULL);
	if (rc != CYAML_OK)
		return refuse(&complaint, rc, err);
	if (texts)
		status = apply_texts(config, texts, err);
	(void)cyaml_free(&how, &schema.root, texts, 0);
	return status;
}

static unsigned int count_lines(const char *yaml, size_t len_bytes)
{
	unsigned int lines = 1;

	for (size_t i = 0; i < len_bytes; i++)
		lines += yaml[i] == '\n';
	return lines;
}

/*
 * The line that what is wrong begins in. libcyaml tells the position before it, or none, and
 * nothing about a number out of range; but the longest beginning of the file that is fine ends just
 * before the bad line, whatever is bad about it.
 */
static unsigned int bad_line(const char *yaml, size_t len_bytes)
{
	struct vbd_config scratch;
	unsigned int line = count_lines(yaml, len_bytes);

	for (; line > 1; line--) {
		while (len_bytes > 0 && yaml[len_bytes - 1] != '\n')
			len_bytes--; /* now in front of this line */
		if (apply_yaml(&scratch, yaml, len_bytes, NULL) == VBD_OK)
			break;
		len_bytes--;
	}
	return line;
}

/* At most @text_bytes of a file; more than that is an error. */
static enum vbd_status read_file(const char *path, char *text, size_t text_bytes, size_t *ret_len,
	struct stat *ret_stat, struct vbd_error *err)
{
	enum vbd_status status;
	size_t len = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret_stat) != 0) {
		status = errno == ENOENT ? VBD_E_NOT_FOUND : VBD_E_PERMISSION_DENIED;
		status = vbd_error_errno(err, status, "open", errno, "%.100s", path);
		goto out;
	}
	do {
		n = read(fd, text + len, text_bytes - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < text_bytes);
	if (n < 0)
		status = vbd_error_errno(err, VBD_E_BAD_VALUE, "read", errno, "%.100s", path);
	else if (len == text_bytes)
		status = vbd_error_set(
			err, VBD_E_TOO_LONG, "%.100s: longer than %zu bytes", path, text_bytes - 1);
	else
		status = VBD_OK;
	*ret_len = len;
out:
	if (fd >= 0)
		(void)close(fd);
	return status;
}

enum vbd_status vbd_config_load(struct vbd_config *config, const char *path, struct vbd_error *err)
{
	struct vbd_error cause = {0};
	struct vbd_config changed = *config;
	enum vbd_status status = VBD_E_NO_MEMORY;
	struct stat unused;
	size_t len = 0;
	char *yaml = malloc(FILE_MAX_BYTES + 1);

	if (!yaml)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to read %.100s", path);
	status = read_file(path, yaml, FILE_MAX_BYTES + 1, &len, &unused, err);
	if (status != VBD_OK)
		goto out;
	if (count_lines(yaml, len) > FILE_MAX_LINES) {
		status = vbd_error_set(
			err, VBD_E_TOO_LONG, "%.100s: more than %d lines", path, FILE_MAX_LINES);
		goto out;
	}
	status = apply_yaml(&changed, yaml, len, &cause);
	if (status == VBD_OK)
		*config = changed;
	else
		status = vbd_error_input(err, status, cause.pointer, "%.80s:%u: %s", path,
			bad_line(yaml, len), cause.text);
out:
	free(yaml);
	return status;
}

static bool is_loopback(const struct sockaddr *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;

	if (addr->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == 127);
	return addr->sa_family == AF_UNIX;
}

enum vbd_status vbd_config_check_addr(
	const struct vbd_config *config, const struct sockaddr *addr, struct vbd_error *err)
{
	if (config->control_token_file[0] || is_loopback(addr))
		return VBD_OK;
	return vbd_error_input(err, VBD_E_PERMISSION_DENIED, "listen",
		"listen: an address that other hosts reach needs control_token_file, for whoever "
		"controls verbsd reads and writes the memory of its peers");
}

/* A token is the first line of its file. */
static enum vbd_status read_token(const char *key, const char *path,
	char token[VBD_TOKEN_MAX_CHARS + 1], struct vbd_error *err)
{
	struct vbd_error cause = {0};
	struct stat stat = {0};
	char text[VBD_TOKEN_MAX_CHARS + 512] = "";
	size_t len = 0;
	enum vbd_status status;

	token[0] = '\0';
	if (path[0] == '\0')
		return VBD_OK;
	status = read_file(path, text, sizeof(text) - 1, &len, &stat, &cause);
	if (status != VBD_OK)
		return vbd_error_input(err, status, key, "%s: %s", key, cause.text);
	len = strcspn(text, "\r\n");
	if (len < VBD_TOKEN_MIN_CHARS || len > VBD_TOKEN_MAX_CHARS)
		return vbd_error_input(err, VBD_E_BAD_VALUE, key,
			"%s: the first line of %.100s has %zu characters, a token has %d to %d",
			key, path, len, VBD_TOKEN_MIN_CHARS, VBD_TOKEN_MAX_CHARS);
	text[len] = '\0';
	for (const char *c = text; *c; c++) {
		if (*c <= ' ' || *c > '~')
			return vbd_error_input(err, VBD_E_BAD_VALUE, key,
				"%s: the first line of %.100s has a character that is not "
				"printable "
				"ASCII",
				key, path);
	}
	if (stat.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		vbd_log(VBD_LOG_WARNING, NULL,
			"%s: %s has mode %04o, so others can read or change it; use 0600", key,
			path, (unsigned int)(stat.st_mode & 07777));
	memcpy(token, text, len + 1);
	return VBD_OK;
}

static enum vbd_status check_pairs(const struct vbd_config *config, struct vbd_error *err)
{
	if (config->control_token[0] && strcmp(config->control_token, config->read_token) == 0)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "read_token_file",
			"read_token_file: its token is that of control_token_file");
	if (config->drain_timeout_ms > config->shutdown_timeout_ms)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "shutdown_timeout_ms",
			"shutdown_timeout_ms: %llu is below drain_timeout_ms, %llu",
			(unsigned long long)config->shutdown_timeout_ms,
			(unsigned long long)config->drain_timeout_ms);
	if (config->limits.long_polls + config->limits.event_streams >= config->limits.http_clients)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "limits.long_polls",
			"limits.long_polls: %llu and limits.event_streams, %llu, leave nothing of "
			"limits.http_clients, %llu",
			(unsigned long long)config->limits.long_polls,
			(unsigned long long)config->limits.event_streams,
			(unsigned long long)config->limits.http_clients);
	return VBD_OK;
}

enum vbd_status vbd_config_check(struct vbd_config *config, struct vbd_error *err)
{
	enum vbd_status status;

	status = read_token(
		"control_token_file", config->control_token_file, config->control_token, err);
	if (status == VBD_OK)
		status = read_token(
			"read_token_file", config->read_token_file, config->read_token, err);
	if (status == VBD_OK)
		status = check_pairs(config, err);
	if (status == VBD_OK && config->listen_addr_bytes)
		status = vbd_config_check_addr(
			config, (const struct sockaddr *)&config->listen_addr, err);
	return status;
}

static void dump_quoted(const char *text, FILE *out)
{
	(void)fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

static void dump_value(const struct vbd_config *config, const struct key *key, FILE *out)
{
	const void *member = const_member_of(config, key);

	switch (key->kind) {
	case KIND_NUMBER:
		(void)fprintf(out, "%llu", (unsigned long long)*(const uint64_t *)member);
		break;
	case KIND_TEXT:
	case KIND_LISTEN:
		dump_quoted(member, out);
		break;
	case KIND_HOSTS:
		(void)fputc('[', out);
		for (size_t i = 0; i < config->allowed_hosts_count; i++) {
			(void)fputs(i ? ", " : "", out);
			dump_quoted(config->allowed_hosts[i], out);
		}
		(void)fputc(']', out);
		break;
	case KIND_LOG_LEVEL:
		(void)fputs(vbd_log_level_name(config->log_level), out);
		break;
	case KIND_LOG_FORMAT:
		(void)fputs(log_formats[config->log_format], out);
		break;
	}
}

void vbd_config_dump(const struct vbd_config *config, FILE *out)
{
	bool in_limits = false;

	for (size_t i = 0; i < KEY_COUNT; i++) {
		const char *limit = limit_name(&keys[i]);

		if (limit && !in_limits)
			(void)fputs("limits:\n", out);
		in_limits = limit != NULL;
		(void)fprintf(out, "%s%s: ", limit ? "  " : "", limit ? limit : keys[i].name);
		dump_value(config, &keys[i], out);
		(void)fputc('\n', out);
	}
}
