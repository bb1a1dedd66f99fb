/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: defaults, over them a YAML file, over that single settings (the command line).
 * Every key goes through one table and one setter, wherever its value comes from.
 *
 * Before any thread starts; read only afterwards. May block on the file system.
 */
#ifndef VBD_DAEMON_CONFIG_H
#define VBD_DAEMON_CONFIG_H

#include "base/attr.h"
#include "base/error.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#define VBD_TOKEN_MIN_CHARS   16
#define VBD_TOKEN_MAX_CHARS   512
#define VBD_ALLOWED_HOSTS_MAX 16

/* How much of each there may be; what goes over it gets limit_reached. */
struct vbd_config_limits {
	uint64_t connections; /* not ended */
	uint64_t listeners;
	uint64_t buffers;
	uint64_t buffer_bytes;	 /* of one buffer */
	uint64_t pinned_bytes;	 /* of all buffers */
	uint64_t messages_bytes; /* memory of all receives, and so of the inboxes */
	uint64_t transfers;	 /* not ended */
	uint64_t pds;
	uint64_t cqs;
	uint64_t srqs;
	uint64_t windows;
	uint64_t endpoints;
	uint64_t peers;
	uint64_t groups;
	uint64_t http_clients;
	uint64_t http_body_bytes; /* of a JSON body */
	uint64_t long_polls;
	uint64_t event_streams;
	uint64_t metrics_connections; /* that /metrics shows one by one */
	uint64_t idempotency_keys;
};

struct vbd_config {
	char listen[80];       /* "127.0.0.1:7480", "[::1]:7480"; "" for no TCP */
	char unix_socket[108]; /* path; "" for none */
	char control_token_file[1024];
	char read_token_file[1024];
	char allowed_hosts[VBD_ALLOWED_HOSTS_MAX][256];
	size_t allowed_hosts_count;
	uint64_t workers;
	uint64_t cq_depth; /* entries of each worker's CQ */
	enum vbd_log_level log_level;
	enum vbd_log_format log_format;
	uint64_t drain_timeout_ms;    /* for a QP to flush */
	uint64_t shutdown_timeout_ms; /* for everything to end on SIGTERM */
	uint64_t history;	      /* ended connections kept */
	uint64_t transfers_kept;      /* ended transfers kept */
	uint64_t probes_kept;	      /* ended probes kept */
	uint64_t benchmarks_kept;     /* ended benchmarks kept */
	uint64_t events;	      /* events kept */
	struct vbd_config_limits limits;

	/* Made of `listen` when it is set; listen_addr_bytes is 0 for no TCP. */
	struct sockaddr_storage listen_addr;
	socklen_t listen_addr_bytes;
	/* Read by vbd_config_check(); "" for none. Never shown. */
	char control_token[VBD_TOKEN_MAX_CHARS + 1];
	char read_token[VBD_TOKEN_MAX_CHARS + 1];
};

/** vbd_config_init - the defaults */
void vbd_config_init(struct vbd_config *ret_config);

/**
 * vbd_config_set - one key
 * @key:   as in the file, "log_level", "limits.buffers"
 * @value: as in the file; for allowed_hosts separated by commas
 *
 * Returns VBD_OK; VBD_E_UNKNOWN_FIELD, _WRONG_TYPE, _OUT_OF_RANGE, _BAD_VALUE or _TOO_LONG. The
 * error's pointer is the key, its text begins with it.
 */
enum vbd_status vbd_config_set(struct vbd_config *config, const char *key, const char *value,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_config_load - set the keys that a YAML file has
 * @path: 64 KiB and 2000 lines at most
 *
 * Returns as vbd_config_set(); VBD_E_NOT_FOUND or _PERMISSION_DENIED for the file as a whole;
 * VBD_E_BAD_VALUE for what is not YAML, or not of the right shape. The error's text begins with
 * "path:line: ", where the line is the one that the first bad value or key begins in.
 */
enum vbd_status vbd_config_load(
	struct vbd_config *config, const char *path, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_config_check - is it safe and complete? Reads the token files.
 *
 * Refuses, naming the key, a TCP address that is not loopback without control_token_file; tokens
 * that can't be read, are not 16 to 512 printable ASCII characters without spaces, or are the same
 * for both roles. Warns about a token file that others can read.
 */
enum vbd_status vbd_config_check(struct vbd_config *config, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_config_check_addr - may the API be served on this address?
 * @addr: where it would listen, or a socket that was handed over listens; AF_UNIX always may
 *
 * Returns VBD_OK, or VBD_E_PERMISSION_DENIED for one that is not loopback without a control token.
 */
enum vbd_status vbd_config_check_addr(const struct vbd_config *config, const struct sockaddr *addr,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_config_walk_limits - call @cb for each key below `limits:`
 * @cb: gets the key without that prefix, "connections", and its value; the name is static
 */
void vbd_config_walk_limits(const struct vbd_config *config,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg);

/** vbd_config_dump - every key with its value, as YAML that vbd_config_load() takes; no tokens */
void vbd_config_dump(const struct vbd_config *config, FILE *out);

#endif
