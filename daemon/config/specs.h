/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists `listeners`, `buffers` and `connections` of the configuration file: objects that verbsd
 * keeps. An item has the members of the request that makes such an object, in YAML; here it becomes
 * JSON, for the decoder of that request. A number of a member in bytes or in ms may have a unit, as
 * other keys of the file.
 */
#ifndef VBD_DAEMON_CONFIG_SPECS_H
#define VBD_DAEMON_CONFIG_SPECS_H

#include "base/attr.h"
#include "base/error.h"

/* Items of all lists together. */
#define VBD_SPECS_MAX 1024

/* The keys of the lists. */
#define VBD_SPEC_LISTENERS   "listeners"
#define VBD_SPEC_BUFFERS     "buffers"
#define VBD_SPEC_CONNECTIONS "connections"

struct vbd_config_spec {
	const char *list;  /* VBD_SPEC_LISTENERS, _BUFFERS or _CONNECTIONS */
	char *body;	   /* JSON: an object */
	unsigned int line; /* of the file */
};

/* Zeros: an empty list. */
struct vbd_config_specs {
	struct vbd_config_spec *items;
	size_t count;
	char path[256]; /* of the file, for messages */
};

/**
 * vbd_config_specs_load - read the lists of a file that vbd_config_load() has read
 * @ret_specs: the caller's, ended by vbd_config_specs_fini(); unchanged after an error
 *
 * Returns VBD_E_WRONG_TYPE for what is no list of mappings, VBD_E_TOO_LONG for more than
 * VBD_SPECS_MAX items, VBD_E_NO_MEMORY, or as vbd_config_load(). The error's text begins with
 * "path:line: ". Any thread; blocks on the file system.
 */
enum vbd_status vbd_config_specs_load(
	const char *path, struct vbd_config_specs *ret_specs, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_config_specs_fini - free all; a list of zeros is fine */
void vbd_config_specs_fini(struct vbd_config_specs *specs);

#endif
