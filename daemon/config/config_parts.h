/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the configuration share:
 *
 *   config_check.c  tokens, and what has to fit together
 *   config_file.c   the YAML file
 *   config.c        keys, their values in and out
 *
 * Each calls those below it in this list only.
 */
#ifndef VBD_DAEMON_CONFIG_CONFIG_PARTS_H
#define VBD_DAEMON_CONFIG_CONFIG_PARTS_H

#include "daemon/config/config.h"

#include <sys/stat.h>

/* More than there are: a file is read into an array of that many texts. */
#define VBD_CONFIG_KEYS_MAX 64

enum vbd_config_kind {
	VBD_CONFIG_NUMBER, /* uint64_t, from min to max */
	VBD_CONFIG_TEXT,   /* char[max] */
	VBD_CONFIG_LISTEN, /* char[max], and the address made of it */
	VBD_CONFIG_HOSTS,
	VBD_CONFIG_LOG_LEVEL,
	VBD_CONFIG_LOG_FORMAT,
};

struct vbd_config_key {
	const char *name;
	enum vbd_config_kind kind;
	size_t offset;
	const char *default_text;
	uint64_t min;
	uint64_t max;
};

/* config.c: all of them, in the order in which they are shown */
extern const struct vbd_config_key vbd_config_keys[];
extern const size_t vbd_config_key_count;

/** vbd_config_limit_name - what of its name stands below `limits:` in a file; NULL if it is not
 * there */
const char *vbd_config_limit_name(const struct vbd_config_key *key);

/** vbd_config_set_key - as vbd_config_set() */
enum vbd_status vbd_config_set_key(struct vbd_config *config, const struct vbd_config_key *key,
	const char *value, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_config_read_file - at most @text_bytes - 1 of a file; more than that is an error
 * @text: not terminated
 *
 * In config_file.c. Blocks.
 */
enum vbd_status vbd_config_read_file(const char *path, char *text, size_t text_bytes,
	size_t *ret_len, struct stat *ret_stat, struct vbd_error *err) VBD_MUST_CHECK;

#endif
