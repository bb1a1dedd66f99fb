/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list `exports` of the configuration file, and the names of files in exports.
 *
 * Control thread, but for vbd_export_decode().
 */
#ifndef VBD_API_COPIES_EXPORTS_H
#define VBD_API_COPIES_EXPORTS_H

#include "base/error.h"

struct vbd_config_specs;
struct vbd_daemon;
struct vbd_encoder;
struct vbd_export_spec;

/** vbd_export_decode - an item of the list; vbd_export_check() follows. Any thread.
 * @body: JSON, as of struct vbd_config_spec */
enum vbd_status vbd_export_decode(
	const char *body, struct vbd_export_spec *ret_spec, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_exports_use_specs - vbd_exports_use() with the exports of checked lists */
void vbd_exports_use_specs(struct vbd_daemon *daemon, const struct vbd_config_specs *specs);

/* Names and paths of files are bytes. In JSON and in parameters each byte that is not part of
 * printable UTF-8 on one line, and each '%', is written as "%E9": two hex digits. */

/** vbd_put_file_name - put a name or a path, of VBD_COPY_PATH_BYTES at most */
void vbd_put_file_name(
	struct vbd_encoder *out, const char *member, const void *bytes, size_t len_bytes);

/**
 * vbd_file_name_decode - the bytes of a name or a path, with a NUL
 * @pointer:    of @text, for an error
 * @name_bytes: size of @ret_name
 *
 * Returns VBD_E_BAD_VALUE for '%' without the two digits, or for "%00"; VBD_E_TOO_LONG.
 */
enum vbd_status vbd_file_name_decode(const char *text, const char *pointer, char *ret_name,
	size_t name_bytes, struct vbd_error *err) VBD_MUST_CHECK;

#endif
