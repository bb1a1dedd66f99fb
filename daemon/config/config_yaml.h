/* SPDX-License-Identifier: Apache-2.0 */
/* YAML files as documents, whose nodes have their lines. */
#ifndef VBD_DAEMON_CONFIG_CONFIG_YAML_H
#define VBD_DAEMON_CONFIG_CONFIG_YAML_H

#include "base/error.h"

#include <yaml.h>

/**
 * vbd_config_read_yaml - read the only document of a text
 * @path:         of the file, for the error
 * @key:          of the configuration that names the file; "" for the configuration file itself
 * @ret_document: the caller deletes it with yaml_document_delete(); its root is NULL if the text is
 *                empty
 *
 * VBD_E_BAD_VALUE with the line if the text is no YAML, has a second document, which nobody would
 * read, or a tag, which nobody would heed; VBD_E_NO_MEMORY. Any thread. Does not
 * block.
 */
enum vbd_status vbd_config_read_yaml(const char *path, const char *key, const char *text,
	size_t len_bytes, yaml_document_t *ret_document, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_yaml_text - the text of a node; NULL if the node is no text, or one with a NUL in it: its
 * beginning must not stand for all of it */
const char *vbd_yaml_text(const yaml_node_t *node);

/** vbd_yaml_is_repeated - does the key of @pair stand before in the mapping? All are texts. */
bool vbd_yaml_is_repeated(
	yaml_document_t *document, const yaml_node_t *mapping, const yaml_node_pair_t *pair);

/** vbd_config_load_yaml - read the configuration file, of at most 64 KiB; else as
 * vbd_config_read_yaml(), or the errors of vbd_config_read_file(). Blocks on the file system. */
enum vbd_status vbd_config_load_yaml(
	const char *path, yaml_document_t *ret_document, struct vbd_error *err) VBD_MUST_CHECK;

#endif
