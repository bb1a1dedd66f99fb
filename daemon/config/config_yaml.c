/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_yaml.h"

#include "base/text.h"
#include "daemon/config/config_parts.h"

#include <fcntl.h>
#include <unistd.h>

#define FILE_MAX_BYTES (64 * 1024)

/* The line of a fault, from 1. The fault of a text without an end is where the text begins. libyaml
 * gives the offset of bytes that are not UTF-8, but not their line. */
static size_t bad_line(const yaml_parser_t *parser, const char *text)
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

/* Why a part of the text would be left out in silence, with its line; NULL if none would. */
static const char *check_all_read(
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
		*ret_line = bad_line(parser, text);
		return parser->problem ? parser->problem : "no YAML";
	}
	more = yaml_document_get_root_node(&next);
	*ret_line = next.start_mark.line + 1;
	yaml_document_delete(&next);
	return more ? "a second document is not allowed" : NULL;
}

enum vbd_status vbd_config_read_yaml(const char *path, const char *key, const char *text,
	size_t len_bytes, yaml_document_t *ret_document, struct vbd_error *err)
{
	yaml_parser_t parser;
	const char *problem;
	size_t line;

	if (!yaml_parser_initialize(&parser))
		return vbd_error_set(
			err, VBD_E_NO_MEMORY, "no memory to read %s", vbd_text_path(path).text);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len_bytes);
	if (yaml_parser_load(&parser, ret_document)) {
		problem = check_all_read(&parser, ret_document, text, &line);
		if (problem)
			yaml_document_delete(ret_document);
	} else {
		problem = parser.problem ? parser.problem : "no YAML";
		line = bad_line(&parser, text);
	}
	yaml_parser_delete(&parser);
	return problem ? vbd_error_input(err, VBD_E_BAD_VALUE, key, "%s:%zu: %s",
				 vbd_text_path(path).text, line, problem)
		       : VBD_OK;
}

const char *vbd_yaml_text(const yaml_node_t *node)
{
	const char *text;

	if (node->type != YAML_SCALAR_NODE)
		return NULL;
	text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

bool vbd_yaml_is_repeated(
	yaml_document_t *document, const yaml_node_t *mapping, const yaml_node_pair_t *pair)
{
	const char *name = vbd_yaml_text(yaml_document_get_node(document, pair->key));

	for (yaml_node_pair_t *other = mapping->data.mapping.pairs.start; other < pair; other++) {
		if (name && strcmp(vbd_yaml_text(yaml_document_get_node(document, other->key)),
				    name) == 0)
			return true;
	}
	return false;
}

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
		status = vbd_error_errno(
			err, VBD_E_BAD_VALUE, "read", errno, "%s", vbd_text_path(path).text);
	else if (len == text_bytes)
		status = vbd_error_set(err, VBD_E_TOO_LONG, "%s: longer than %zu bytes",
			vbd_text_path(path).text, text_bytes - 1);
	*ret_len = len;
	(void)close(fd);
	return status;
}

enum vbd_status vbd_config_load_yaml(
	const char *path, yaml_document_t *ret_document, struct vbd_error *err)
{
	char *text = malloc(FILE_MAX_BYTES + 1);
	enum vbd_status status;
	struct stat unused;
	size_t len = 0;

	if (!text)
		return vbd_error_set(
			err, VBD_E_NO_MEMORY, "no memory to read %s", vbd_text_path(path).text);
	status = vbd_config_read_file(path, text, FILE_MAX_BYTES + 1, &len, &unused, err);
	if (status == VBD_OK)
		status = vbd_config_read_yaml(path, "", text, len, ret_document, err);
	free(text);
	return status;
}
