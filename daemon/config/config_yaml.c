/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_parts.h"

#include "base/text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES (64 * 1024)

/* The line of a fault, from 1. The fault of a text without an end is where the text begins. libyaml
 * gives the offset of bytes that are not UTF-8, but not their line. */
static size_t bad_line_number(const yaml_parser_t *parser, const char *text)
{
	size_t line = 1;

	if (parser->error != YAML_READER_ERROR)
		return 1 + (parser->problem && strstr(parser->problem, "end of stream") &&
						   parser->context
					   ? parser->context_mark.line
					   : parser->problem_mark.line);
	for (size_t i = 0; i < parser->problem_offset; i++)
		line += text[i] == '\n';
	return line;
}

/* Why a part of the text would be ignored, with its line; NULL if none would. */
static const char *find_ignored_part(
	yaml_parser_t *parser, yaml_document_t *document, const char *text, size_t *ret_line)
{
	static const char *const tags[] = {
		[YAML_SCALAR_NODE] = YAML_DEFAULT_SCALAR_TAG,
		[YAML_SEQUENCE_NODE] = YAML_DEFAULT_SEQUENCE_TAG,
		[YAML_MAPPING_NODE] = YAML_DEFAULT_MAPPING_TAG,
	};
	yaml_document_t next;
	bool more;

	for (yaml_node_t *node = document->nodes.start; node < document->nodes.top; node++) {
		*ret_line = node->start_mark.line + 1;
		if (strcmp((const char *)node->tag, tags[node->type]) != 0)
			return "tags are not allowed";
	}
	if (!yaml_parser_load(parser, &next)) {
		*ret_line = bad_line_number(parser, text);
		return parser->problem ? parser->problem : "no YAML";
	}
	more = yaml_document_get_root_node(&next);
	*ret_line = next.start_mark.line + 1;
	yaml_document_delete(&next);
	return more ? "a second document is not allowed" : NULL;
}

enum vbd_status vbd_yaml_parse(struct vbd_yaml *yaml, const char *text, size_t len_bytes)
{
	yaml_parser_t parser;
	const char *problem;
	size_t line;

	if (!yaml_parser_initialize(&parser))
		return vbd_error_set(yaml->err, VBD_E_NO_MEMORY, "no memory to read %s",
			vbd_text_path(yaml->path).text);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len_bytes);
	if (yaml_parser_load(&parser, &yaml->document)) {
		problem = find_ignored_part(&parser, &yaml->document, text, &line);
		if (problem)
			yaml_document_delete(&yaml->document);
	} else {
		problem = parser.problem ? parser.problem : "no YAML";
		line = bad_line_number(&parser, text);
	}
	yaml_parser_delete(&parser);
	return problem ? vbd_error_input(yaml->err, VBD_E_BAD_VALUE, yaml->key, "%s:%zu: %s",
				 vbd_text_path(yaml->path).text, line, problem)
		       : VBD_OK;
}

/* --- nodes ----------------------------------------------------------------------------------- */

enum vbd_status vbd_yaml_refuse(struct vbd_yaml *yaml, const yaml_node_t *node,
	enum vbd_status status, const char *key, const char *fmt, ...)
{
	char text[sizeof(yaml->err->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return vbd_error_input(yaml->err, status, key ? key : yaml->key, "%s:%zu: %s",
		vbd_text_path(yaml->path).text, node->start_mark.line + 1, text);
}

static enum vbd_status refuse_node(
	struct vbd_yaml *yaml, const yaml_node_t *node, const char *path, const char *reason)
{
	return vbd_yaml_refuse(yaml, node, VBD_E_BAD_VALUE, yaml->key[0] ? NULL : path, "%s: %s",
		path[0] ? path : "the file", reason);
}

enum vbd_status vbd_yaml_refuse_shape(
	struct vbd_yaml *yaml, const yaml_node_t *node, const char *key, const char *wanted)
{
	char reason[80];

	(void)snprintf(reason, sizeof(reason), "needs %s, not %s", wanted,
		node->type == YAML_SEQUENCE_NODE  ? "a list"
		: node->type == YAML_MAPPING_NODE ? "a mapping of keys"
						  : "one value");
	return refuse_node(yaml, node, key, reason);
}

const char *vbd_yaml_text(const yaml_node_t *node)
{
	const char *text;

	if (node->type != YAML_SCALAR_NODE)
		return NULL;
	text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

/* Is there a pair of this name before @pair? The keys before @pair are texts. */
static bool is_repeated(struct vbd_yaml *yaml, const yaml_node_t *mapping,
	const yaml_node_pair_t *pair, const char *name)
{
	for (yaml_node_pair_t *other = mapping->data.mapping.pairs.start; other < pair; other++) {
		const yaml_node_t *key = yaml_document_get_node(&yaml->document, other->key);

		if (strcmp(vbd_yaml_text(key), name) == 0)
			return true;
	}
	return false;
}

enum vbd_status vbd_yaml_each_pair(struct vbd_yaml *yaml, const yaml_node_t *mapping,
	const char *path,
	enum vbd_status (*cb)(struct vbd_yaml *yaml, const struct vbd_yaml_pair *pair, void *arg),
	void *arg)
{
	enum vbd_status status = VBD_OK;
	char whole[120];

	if (mapping->type != YAML_MAPPING_NODE)
		return vbd_yaml_refuse_shape(yaml, mapping, path, "a mapping of keys");
	for (yaml_node_pair_t *at = mapping->data.mapping.pairs.start;
		at < mapping->data.mapping.pairs.top && status == VBD_OK; at++) {
		struct vbd_yaml_pair pair = {.path = whole,
			.key = yaml_document_get_node(&yaml->document, at->key),
			.value = yaml_document_get_node(&yaml->document, at->value)};

		pair.name = vbd_yaml_text(pair.key);
		if (!pair.name)
			return refuse_node(yaml, pair.key, path, "a key is one text");
		(void)snprintf(whole, sizeof(whole), "%s%s%s", path, path[0] ? "." : "", pair.name);
		if (is_repeated(yaml, mapping, at, pair.name))
			return refuse_node(yaml, pair.key, whole, "is there already");
		status = cb(yaml, &pair, arg);
	}
	return status;
}

enum vbd_status vbd_yaml_each_item(struct vbd_yaml *yaml, const yaml_node_t *list, const char *path,
	enum vbd_status (*cb)(struct vbd_yaml *yaml, const yaml_node_t *item, void *arg), void *arg)
{
	enum vbd_status status = VBD_OK;

	if (list->type != YAML_SEQUENCE_NODE)
		return vbd_yaml_refuse_shape(yaml, list, path, "a list");
	for (yaml_node_item_t *item = list->data.sequence.items.start;
		item < list->data.sequence.items.top && status == VBD_OK; item++)
		status = cb(yaml, yaml_document_get_node(&yaml->document, *item), arg);
	return status;
}

/* --- files ----------------------------------------------------------------------------------- */

/* A FIFO without a writer would hold up open(2) for ever, so nothing here waits. */
static enum vbd_status open_regular(
	const char *path, int *ret_fd, struct stat *ret_stat, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, ret_stat) != 0) {
		status = errno == ENOENT ? VBD_E_NOT_FOUND : VBD_E_PERMISSION_DENIED;
		status =
			vbd_error_errno(err, status, "open", errno, "%s", vbd_text_path(path).text);
	} else if (!S_ISREG(ret_stat->st_mode)) {
		status = vbd_error_set(
			err, VBD_E_BAD_VALUE, "%s is not a regular file", vbd_text_path(path).text);
	}
	if (status != VBD_OK && fd >= 0)
		(void)close(fd);
	*ret_fd = fd;
	return status;
}

/* Reads a file of at most @text_bytes - 1 bytes. The text is not terminated. */
static enum vbd_status read_file(const char *path, char *text, size_t text_bytes, size_t *ret_len,
	struct stat *ret_stat, struct vbd_error *err)
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
		status = vbd_error_errno(
			err, VBD_E_BAD_VALUE, "read", errno, "%s", vbd_text_path(path).text);
	else if (len == text_bytes)
		status = vbd_error_set(err, VBD_E_TOO_LONG, "%s: longer than %zu bytes",
			vbd_text_path(path).text, text_bytes - 1);
	*ret_len = len;
	(void)close(fd);
	return status;
}

enum vbd_status vbd_yaml_load(struct vbd_yaml *yaml)
{
	char *text = malloc(FILE_MAX_BYTES + 1);
	enum vbd_status status;
	struct stat unused;
	size_t len = 0;

	if (!text)
		return vbd_error_set(yaml->err, VBD_E_NO_MEMORY, "no memory to read %s",
			vbd_text_path(yaml->path).text);
	status = read_file(yaml->path, text, FILE_MAX_BYTES + 1, &len, &unused, yaml->err);
	if (status == VBD_OK)
		status = vbd_yaml_parse(yaml, text, len);
	free(text);
	return status;
}

static enum vbd_status check_owner_and_mode(
	const char *path, const struct stat *stat, struct vbd_error *err)
{
	if (stat->st_uid != 0 && stat->st_uid != geteuid())
		return vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"%s belongs to uid %u, who can change it; the owner must be root or "
			"the daemon's user",
			vbd_text_path(path).text, (unsigned int)stat->st_uid);
	if (stat->st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		return vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"%s has mode %04o, so others can read or change it: chmod 0600",
			vbd_text_path(path).text, (unsigned int)(stat->st_mode & 07777));
	return VBD_OK;
}

enum vbd_status vbd_secret_file_read(
	const char *path, char *text, size_t text_bytes, size_t *ret_len, struct vbd_error *err)
{
	struct stat stat;
	size_t len = 0;
	enum vbd_status status = read_file(path, text, text_bytes, &len, &stat, err);

	if (status == VBD_OK)
		status = check_owner_and_mode(path, &stat, err);
	if (status != VBD_OK) {
		explicit_bzero(text, text_bytes);
		return status;
	}
	memset(text + len, 0, text_bytes - len);
	*ret_len = len;
	return VBD_OK;
}
