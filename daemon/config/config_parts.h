/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of the configuration:
 *
 *   config_check.c  tokens, and keys whose values depend on each other
 *   secret_file.c   files that strangers can't read
 *   config_file.c   the keys of the YAML file
 *   config_yaml.c   files, and YAML in them
 *   config.c        keys, their values in and out
 *   config_listen.c the addresses of `listen`
 *
 * Each file calls only those below it in this list.
 */
#ifndef VBD_DAEMON_CONFIG_CONFIG_PARTS_H
#define VBD_DAEMON_CONFIG_CONFIG_PARTS_H

#include "daemon/config/config.h"

#include <sys/stat.h>

enum vbd_config_kind {
	VBD_CONFIG_NUMBER, /* uint64_t, from min to max */
	VBD_CONFIG_MODE,   /* uint64_t, permissions among the bits of max */
	VBD_CONFIG_TEXT,   /* char[max] */
	VBD_CONFIG_FLAG,   /* bool */
	VBD_CONFIG_LISTEN, /* a list of addresses */
	VBD_CONFIG_HOSTS,  /* a list of host names */
	VBD_CONFIG_CPUS,   /* struct vbd_cpus */
	VBD_CONFIG_WORD,   /* an enum: the index in `words` */
};

struct vbd_config_key {
	const char *name;
	enum vbd_config_kind kind;
	size_t offset;
	size_t size_bytes;
	const char *default_text;
	uint64_t min;
	uint64_t max;
	const char *const *words;
	const char *words_told; /* all words as an error lists them: "text, json or journal" */
};

/* all keys, in the order of vbd_config_dump(); in config.c */
extern const struct vbd_config_key vbd_config_keys[];
extern const size_t vbd_config_key_count;

/* Mappings of a file: a key "SECTION.NAME" is written as NAME below `SECTION:`. */
enum vbd_config_section {
	VBD_CONFIG_TOP,
	VBD_CONFIG_TLS,
	VBD_CONFIG_RECORDS,
	VBD_CONFIG_LIMITS,
	VBD_CONFIG_SECTION_COUNT,
};

/** vbd_config_listen_parse - parse "ADDRESS:PORT" or "[IPV6-ADDRESS]:PORT", all numeric, with
 * "http://" or "https://" before it or without; false if @text has another form */
bool vbd_config_listen_parse(const char *text, struct vbd_config_listen *ret_listen);

/** vbd_config_section_name - "records", "limits"; "" for the top */
const char *vbd_config_section_name(enum vbd_config_section section);

/** vbd_config_section_of - where the key stands in a file, and its name there */
enum vbd_config_section vbd_config_section_of(
	const struct vbd_config_key *key, const char **ret_name);

/** vbd_config_kind_of - the kind of a key; VBD_CONFIG_TEXT if there is no such key */
enum vbd_config_kind vbd_config_kind_of(const char *key);

/**
 * vbd_config_read_file - read a regular file of at most @text_bytes - 1 bytes; a longer one and
 * anything but a regular file are errors
 * @text: not terminated
 *
 * In config_yaml.c. Blocks on the file system, but never on a FIFO.
 */
enum vbd_status vbd_config_read_file(const char *path, char *text, size_t text_bytes,
	size_t *ret_len, struct stat *ret_stat, struct vbd_error *err) VBD_MUST_CHECK;

#endif
