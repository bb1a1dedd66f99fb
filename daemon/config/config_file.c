/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "daemon/config/config_parts.h"
#include "daemon/config/specs.h"

#include <cyaml/cyaml.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES (64 * 1024)
#define FILE_MAX_LINES 2000

/* A file is read into texts (NULL for absent keys), and vbd_config_set() sets each text, so that
 * values are checked in one place. */
struct file_texts {
	char *values[VBD_CONFIG_KEYS_MAX]; /* by index in vbd_config_keys[] */
	char **hosts;
	unsigned int hosts_count;
	char **listen; /* if it is a list */
	unsigned int listen_count;
	struct section_texts {
		char *values[VBD_CONFIG_KEYS_MAX];
	} * sections[VBD_CONFIG_SECTION_COUNT]; /* that of the top is unused */
};

static const cyaml_schema_value_t item_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};

/* Accept `records:`, `limits:` and `allowed_hosts:` with nothing below them: all of it may be
 * commented out. */
static const cyaml_schema_field_t text_field = CYAML_FIELD_STRING_PTR("",
	CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct file_texts, values[0], 0, CYAML_UNLIMITED);
static const cyaml_schema_field_t hosts_field =
	CYAML_FIELD_SEQUENCE("allowed_hosts", CYAML_FLAG_POINTER_NULL | CYAML_FLAG_OPTIONAL,
		struct file_texts, hosts, &item_schema, 0, 4 * VBD_ALLOWED_HOSTS_MAX);
static const cyaml_schema_field_t listen_field =
	CYAML_FIELD_SEQUENCE("listen", CYAML_FLAG_POINTER_NULL | CYAML_FLAG_OPTIONAL,
		struct file_texts, listen, &item_schema, 0, 4 * VBD_LISTEN_MAX);

/* specs.c reads these lists. */
static const cyaml_schema_field_t spec_fields[] = {
	CYAML_FIELD_IGNORE(VBD_SPEC_LISTENERS, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_IGNORE(VBD_SPEC_BUFFERS, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_IGNORE(VBD_SPEC_CONNECTIONS, CYAML_FLAG_OPTIONAL),
};

static_assert(offsetof(struct file_texts, values) == offsetof(struct section_texts, values),
	"text_field stands for both");

struct schema {
	cyaml_schema_field_t fields[VBD_CONFIG_SECTION_COUNT][VBD_CONFIG_KEYS_MAX + 1];
	cyaml_schema_value_t root;
};

/* @listen_is_list: libcyaml has no schema for "a text or a list of texts". */
static void make_schema(struct schema *schema, bool listen_is_list)
{
	const cyaml_schema_field_t section_field =
		CYAML_FIELD_MAPPING_PTR("", CYAML_FLAG_POINTER_NULL | CYAML_FLAG_OPTIONAL,
			struct file_texts, sections[0], NULL);
	const cyaml_schema_value_t root = {CYAML_VALUE_MAPPING(
		CYAML_FLAG_POINTER_NULL, struct file_texts, schema->fields[VBD_CONFIG_TOP])};
	cyaml_schema_field_t *ends[VBD_CONFIG_SECTION_COUNT];

	memset(schema, 0, sizeof(*schema));
	for (enum vbd_config_section at = 0; at < VBD_CONFIG_SECTION_COUNT; at++)
		ends[at] = schema->fields[at];
	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const char *name;
		enum vbd_config_section at = vbd_config_section_of(&vbd_config_keys[i], &name);
		cyaml_schema_field_t *field = ends[at]++;

		if (vbd_config_keys[i].kind == VBD_CONFIG_HOSTS) {
			*field = hosts_field;
			continue;
		}
		if (vbd_config_keys[i].kind == VBD_CONFIG_LISTEN && listen_is_list) {
			*field = listen_field;
			continue;
		}
		*field = text_field;
		field->key = name;
		field->data_offset += (uint32_t)(i * sizeof(char *));
	}
	for (enum vbd_config_section at = VBD_CONFIG_TOP + 1; at < VBD_CONFIG_SECTION_COUNT; at++) {
		cyaml_schema_field_t *field = ends[VBD_CONFIG_TOP]++;

		*field = section_field;
		field->key = vbd_config_section_name(at);
		field->data_offset += (uint32_t)(at * sizeof(void *));
		field->value.mapping.fields = schema->fields[at];
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(spec_fields); i++)
		*ends[VBD_CONFIG_TOP]++ = spec_fields[i];
	schema->root = root;
}

/* Messages of libcyaml: first the error, then the keys that enclose it, from the innermost one. */
struct yaml_error {
	char what[120];
	char key[80];
};

static void on_yaml_error(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
	VBD_PRINTF(3, 0);
static void on_yaml_error(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	static const char field_head[] = "  in mapping field '";
	static const char unknown_head[] = "Load: Unexpected key: ";
	struct yaml_error *yaml_error = ctx;
	char line[200];
	char outer[80];

	(void)level;
	(void)vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, field_head, strlen(field_head)) == 0) {
		char *name = line + strlen(field_head);

		name[strcspn(name, "'")] = '\0';
		(void)snprintf(outer, sizeof(outer), "%.38s%s%.38s", name,
			yaml_error->key[0] ? "." : "", yaml_error->key);
		(void)snprintf(yaml_error->key, sizeof(yaml_error->key), "%s", outer);
	} else if (strncmp(line, unknown_head, strlen(unknown_head)) == 0) {
		(void)snprintf(yaml_error->key, sizeof(yaml_error->key), "%.38s",
			line + strlen(unknown_head));
	} else if (yaml_error->what[0] == '\0' && !strstr(line, "Backtrace")) {
		(void)snprintf(yaml_error->what, sizeof(yaml_error->what), "%.100s",
			strncmp(line, "Load: ", 6) == 0 ? line + 6 : line);
	}
}

/* Say "Expecting STRING, got event: SEQUENCE_START" in the words of the manual. */
static bool explain_shape(const char *what, char text[120])
{
	static const struct {
		const char *word;
		const char *plain;
	} words[] = {
		{"STRING", "one value"},
		{"SCALAR", "one value"},
		{"SEQUENCE", "a list"},
		{"MAPPING", "a mapping of keys"},
	};
	const char *wanted = NULL;
	const char *given = NULL;
	const char *got = strstr(what, ", got event: ");

	if (strncmp(what, "Expecting ", 10) != 0 || !got)
		return false;
	for (size_t i = 0; i < VBD_ARRAY_LEN(words); i++) {
		if (strncmp(what + 10, words[i].word, strlen(words[i].word)) == 0)
			wanted = words[i].plain;
		if (strncmp(got + 13, words[i].word, strlen(words[i].word)) == 0)
			given = words[i].plain;
	}
	if (!wanted || !given)
		return false;
	(void)snprintf(text, 120, "needs %s, not %s", wanted, given);
	return true;
}

static enum vbd_status refuse(
	const struct yaml_error *yaml_error, cyaml_err_t rc, struct vbd_error *err)
{
	const char *key = yaml_error->key;
	const char *what = yaml_error->what[0] ? yaml_error->what : cyaml_strerror(rc);
	char plain[120];

	if (rc == CYAML_ERR_OOM)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to read it");
	if (rc == CYAML_ERR_INVALID_KEY)
		return vbd_config_refuse_key(key, err);
	if (explain_shape(what, plain))
		what = plain;
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, key, "%s: %s", key[0] ? key : "the file", what);
}

static enum vbd_status apply_list(struct vbd_config *config, const char *key, char *const *items,
	unsigned int count, struct vbd_error *err)
{
	char joined[4096] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < count; i++) {
		int n = snprintf(
			joined + len, sizeof(joined) - len, "%s%s", i ? "," : "", items[i]);

		if (n < 0 || (size_t)n >= sizeof(joined) - len)
			return vbd_error_input(err, VBD_E_TOO_LONG, key, "%s: too long", key);
		len += (size_t)n;
	}
	return vbd_config_set(config, key, joined, err);
}

static enum vbd_status apply_texts(
	struct vbd_config *config, const struct file_texts *texts, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (size_t i = 0; i < vbd_config_key_count && status == VBD_OK; i++) {
		const char *value = texts->values[i];
		const char *name;
		enum vbd_config_section at = vbd_config_section_of(&vbd_config_keys[i], &name);

		if (at != VBD_CONFIG_TOP)
			value = texts->sections[at] ? texts->sections[at]->values[i] : NULL;
		if (value)
			status = vbd_config_set_key(config, &vbd_config_keys[i], value, err);
	}
	if (status == VBD_OK && texts->hosts)
		status = apply_list(config, "allowed_hosts", texts->hosts, texts->hosts_count, err);
	return status;
}

static cyaml_err_t load_texts(const char *yaml, size_t len_bytes, const cyaml_config_t *how,
	struct schema *schema, bool listen_is_list, struct file_texts **ret_texts)
{
	make_schema(schema, listen_is_list);
	return cyaml_load_data((const uint8_t *)yaml, len_bytes, how, &schema->root,
		(cyaml_data_t **)ret_texts, NULL);
}

static enum vbd_status apply_yaml(
	struct vbd_config *config, const char *yaml, size_t len_bytes, struct vbd_error *err)
{
	struct yaml_error yaml_error = {0};
	const cyaml_config_t how = {
		.log_fn = on_yaml_error,
		.log_ctx = &yaml_error,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	struct file_texts *texts = NULL;
	bool listen_is_list = false;
	struct schema schema;
	enum vbd_status status = VBD_OK;
	cyaml_err_t rc;

	if (len_bytes == 0)
		return VBD_OK;
	rc = load_texts(yaml, len_bytes, &how, &schema, false, &texts);
	if (rc != CYAML_OK && strcmp(yaml_error.key, "listen") == 0) {
		listen_is_list = true;
		yaml_error = (struct yaml_error){0};
		rc = load_texts(yaml, len_bytes, &how, &schema, true, &texts);
	}
	if (rc != CYAML_OK)
		return refuse(&yaml_error, rc, err);
	if (texts)
		status = apply_texts(config, texts, err);
	/* libcyaml has NULL for an empty list. */
	if (status == VBD_OK && listen_is_list)
		status = apply_list(config, "listen", texts->listen, texts->listen_count, err);
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
 * Find the first line of the bad value. libcyaml reports the position before it or none, and does
 * not check the range of numbers. But the longest part of the file, from its start, that loads ends
 * just before the bad line.
 */
static unsigned int bad_line(const char *yaml, size_t len_bytes)
{
	struct vbd_config scratch;
	unsigned int line = count_lines(yaml, len_bytes);

	for (; line > 1; line--) {
		while (len_bytes > 0 && yaml[len_bytes - 1] != '\n')
			len_bytes--; /* to the end of the line before */
		if (apply_yaml(&scratch, yaml, len_bytes, NULL) == VBD_OK)
			break;
		len_bytes--;
	}
	return line;
}

/* A FIFO without a writer would hold up open(2) for ever, so nothing here waits. */
static enum vbd_status open_regular(
	const char *path, int *ret_fd, struct stat *ret_stat, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, ret_stat) != 0) {
		status = errno == ENOENT ? VBD_E_NOT_FOUND : VBD_E_PERMISSION_DENIED;
		status = vbd_error_errno(err, status, "open", errno, "%.100s", path);
	} else if (!S_ISREG(ret_stat->st_mode)) {
		status = vbd_error_set(err, VBD_E_BAD_VALUE, "%.100s is not a regular file", path);
	}
	if (status != VBD_OK && fd >= 0)
		(void)close(fd);
	*ret_fd = fd;
	return status;
}

enum vbd_status vbd_config_read_file(const char *path, char *text, size_t text_bytes,
	size_t *ret_len, struct stat *ret_stat, struct vbd_error *err)
{
	size_t len = 0;
	ssize_t n;
	int fd;
	enum vbd_status status = open_regular(path, &fd, ret_stat, err);

	if (status != VBD_OK)
		return status;
	do {
		n = read(fd, text + len, text_bytes - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < text_bytes);
	if (n < 0)
		status = vbd_error_errno(err, VBD_E_BAD_VALUE, "read", errno, "%.100s", path);
	else if (len == text_bytes)
		status = vbd_error_set(
			err, VBD_E_TOO_LONG, "%.100s: longer than %zu bytes", path, text_bytes - 1);
	*ret_len = len;
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
	status = vbd_config_read_file(path, yaml, FILE_MAX_BYTES + 1, &len, &unused, err);
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
