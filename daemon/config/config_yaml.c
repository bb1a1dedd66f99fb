/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_yaml.h"

enum vbd_status vbd_config_read_yaml(const char *path, const char *key, const char *text,
	size_t len_bytes, yaml_document_t *ret_document, struct vbd_error *err)
{
	yaml_parser_t parser;
	enum vbd_status status = VBD_OK;

	if (!yaml_parser_initialize(&parser))
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to read %.80s", path);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len_bytes);
	if (!yaml_parser_load(&parser, ret_document))
		status = vbd_error_input(err, VBD_E_BAD_VALUE, key, "%.80s:%zu: %s", path,
			parser.problem_mark.line + 1, parser.problem ? parser.problem : "no YAML");
	yaml_parser_delete(&parser);
	return status;
}
