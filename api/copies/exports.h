/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list `exports` of the configuration file.
 *
 * Control thread, but for vbd_export_decode().
 */
#ifndef VBD_API_COPIES_EXPORTS_H
#define VBD_API_COPIES_EXPORTS_H

#include "base/error.h"

struct vbd_config_specs;
struct vbd_daemon;
struct vbd_export_spec;

/** vbd_export_decode - an item of the list; vbd_export_check() follows. Any thread.
 * @body: JSON, as of struct vbd_config_spec */
enum vbd_status vbd_export_decode(
	const char *body, struct vbd_export_spec *ret_spec, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_exports_use_specs - vbd_exports_use() with the exports of checked lists */
void vbd_exports_use_specs(struct vbd_daemon *daemon, const struct vbd_config_specs *specs);

#endif
