/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of the configuration:
 *
 *   config_check.c  tokens, keys whose values depend on each other, and keys that differ
 *   config_file.c   the keys and the lists of the YAML file
 *   callers.c       the file of callers
 *   config_yaml.c   files, and YAML in them
 *   config.c        keys: their values are set and printed
 *
 * Each file calls only those below it in this list.
 */
#ifndef VBD_DAEMON_CONFIG_CONFIG_PARTS_H
#define VBD_DAEMON_CONFIG_CONFIG_PARTS_H

#include "daemon/config/config.h"

#include <yaml.h>

struct vbd_config_key;

/* The type of a member of struct vbd_config: how a text becomes its value, and back. */
struct vbd_config_type {
	enum vbd_status (*set)(const struct vbd_config_key *key, void *member, const char *value,
		struct vbd_error *err);
	void (*print)(const struct vbd_config_key *key, const void *member, FILE *out);
};

/* An array, of which each item begins with its text. */
struct vbd_config_list {
	size_t item_bytes;
	size_t count_at; /* of the number of items, from the begin of the array */
	bool (*parse)(const char *text, void *ret_item);
	const char *items;  /* "addresses" */
	const char *wanted; /* "a host name", as an error tells */
	bool may_be_text;   /* a list of one item may be written as a text */
};

struct vbd_config_key {
	const char *name;
	const struct vbd_config_type *type;
	size_t offset;
	size_t size_bytes;
	const char *default_text;
	uint64_t min;			    /* of a number */
	uint64_t max;			    /* of a number; the bits of a mode */
	const char *const *words;	    /* of an enum: names of its values, and NULL */
	const char *told;		    /* all `words`, as an error lists them */
	const struct vbd_config_list *list; /* NULL: one value */
	bool is_live;			    /* can change while the daemon runs */
};

/* all keys, in the order of vbd_config_dump(); in config.c */
extern const struct vbd_config_key vbd_config_keys[];
extern const size_t vbd_config_key_count;

/** vbd_config_short_name - "buffers" of "limits.buffers", which is written as `buffers` below
 * `limits:` in a file; a key without a section is its own short name */
const char *vbd_config_short_name(const char *key);

/** vbd_config_find_key - NULL if there is no such key */
const struct vbd_config_key *vbd_config_find_key(const char *name);

/* A YAML file while it is read: one document, whose nodes have their lines. */
struct vbd_yaml {
	const char *path;      /* for messages */
	const char *key;       /* of the configuration that names the file; "" for its own file */
	struct vbd_error *err; /* gets the first fault */
	yaml_document_t document;
};

/**
 * vbd_yaml_parse - read the only document of a text
 *
 * The caller deletes the document with yaml_document_delete(); its root is NULL if the text is
 * empty.
 *
 * VBD_E_BAD_VALUE with the line if the text is no YAML, or has a second document or a tag, which
 * would be ignored; VBD_E_NO_MEMORY. Any thread. Does not block.
 */
enum vbd_status vbd_yaml_parse(
	struct vbd_yaml *yaml, const char *text, size_t len_bytes) VBD_MUST_CHECK;

/** vbd_yaml_load - vbd_yaml_parse() for the configuration file, of at most 64 KiB, or
 * VBD_E_NOT_FOUND, _PERMISSION_DENIED, _TOO_LONG, and _BAD_VALUE for anything but a regular file.
 * Blocks on the file system, but never on a FIFO. */
enum vbd_status vbd_yaml_load(struct vbd_yaml *yaml) VBD_MUST_CHECK;

/** vbd_yaml_refuse - record the fault of a node: "path:line: " and the text
 * @key: of the configuration; NULL: the one that names the file */
enum vbd_status vbd_yaml_refuse(struct vbd_yaml *yaml, const yaml_node_t *node,
	enum vbd_status status, const char *key, const char *fmt, ...) VBD_PRINTF(5, 6);

/** vbd_yaml_refuse_shape - VBD_E_BAD_VALUE: "key: needs a list, not a mapping of keys" */
enum vbd_status vbd_yaml_refuse_shape(
	struct vbd_yaml *yaml, const yaml_node_t *node, const char *key, const char *wanted);

/** vbd_yaml_text - the text of a node; NULL if the node is no text, or has a NUL, behind which the
 * text would be ignored */
const char *vbd_yaml_text(const yaml_node_t *node);

/* A pair of a mapping. */
struct vbd_yaml_pair {
	const char *name; /* the text of the key */
	const char *path; /* "limits.buffers": all keys from the top of the file */
	const yaml_node_t *key, *value;
};

/** vbd_yaml_each_pair - call @cb for each pair, until it fails; refuses anything but a mapping, and
 * a key that is no text, or is there already
 * @path: the key of the mapping; "" for the whole file */
enum vbd_status vbd_yaml_each_pair(struct vbd_yaml *yaml, const yaml_node_t *mapping,
	const char *path,
	enum vbd_status (*cb)(struct vbd_yaml *yaml, const struct vbd_yaml_pair *pair, void *arg),
	void *arg) VBD_MUST_CHECK;

/** vbd_yaml_each_item - call @cb for each item, until it fails; refuses anything but a list
 * @path: the key of the list; "" for the whole file */
enum vbd_status vbd_yaml_each_item(struct vbd_yaml *yaml, const yaml_node_t *list, const char *path,
	enum vbd_status (*cb)(struct vbd_yaml *yaml, const yaml_node_t *item, void *arg),
	void *arg) VBD_MUST_CHECK;

#endif
