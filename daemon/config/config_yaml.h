/* SPDX-License-Identifier: Apache-2.0 */
/* YAML for the readers that need the line of each value, which libcyaml does not keep. */
#ifndef VBD_DAEMON_CONFIG_CONFIG_YAML_H
#define VBD_DAEMON_CONFIG_CONFIG_YAML_H

#include "base/error.h"

#include <yaml.h>

/**
 * vbd_config_read_yaml - read the first document of a text
 * @path:         of the file, for the error
 * @key:          of the configuration that names the file; "" for the configuration file itself
 * @ret_document: the caller deletes it with yaml_document_delete(); its root is NULL if the text is
 *                empty
 *
 * VBD_E_BAD_VALUE with the line if the text is no YAML; VBD_E_NO_MEMORY. Any thread. Does not
 * block.
 */
enum vbd_status vbd_config_read_yaml(const char *path, const char *key, const char *text,
	size_t len_bytes, yaml_document_t *ret_document, struct vbd_error *err) VBD_MUST_CHECK;

#endif
