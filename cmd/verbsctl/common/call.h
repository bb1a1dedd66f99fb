/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands have in common: one request and its answer, whole lists page by page, the same
 * thing for each operand.
 *
 * One thread. Calls block until they are answered.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_CALL_H
#define VBD_CMD_VERBSCTL_COMMON_CALL_H

#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/http.h"
#include "cmd/verbsctl/common/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of one run of verbsctl. */
struct vbd_ctl {
	struct vbd_ctl_args args;
	struct vbd_ctl_http http;
	bool json;  /* --json */
	bool color; /* standard output is a terminal and NO_COLOR is not set */
};

/* No Prefer header. */
#define VBD_CTL_NO_WAIT -1

/* Seconds that verbsd waits at most (openapi.yaml, Prefer). */
#define VBD_CTL_WAIT_MAX_S 60

/**
 * vbd_ctl_open - get ready to talk to the server that options and environment name
 *
 * Returns VBD_CTL_USAGE, told, if they don't make sense. ctl->http is to be freed in any case.
 */
enum vbd_ctl_exit vbd_ctl_open(struct vbd_ctl *ctl);

/**
 * vbd_ctl_call - send a request to the server of -s
 * @body:   taken over; NULL for none
 * @wait_s: for Prefer: wait=N, or VBD_CTL_NO_WAIT
 *
 * Returns VBD_CTL_FAILED, told, unless the answer is good. @ret_answer is to be freed in any case.
 */
enum vbd_ctl_exit vbd_ctl_call(struct vbd_ctl *ctl, const char *method, const char *path,
	json_t *body, int wait_s, struct vbd_ctl_answer *ret_answer);

/** vbd_ctl_get - GET the object @ref of @collection ("/v1/buffers"); with --json it is printed as
 * well */
enum vbd_ctl_exit vbd_ctl_get(struct vbd_ctl *ctl, const char *collection, const char *ref,
	struct vbd_ctl_answer *ret_answer);

/**
 * vbd_ctl_get_at - GET an object of another verbsd
 * @option: the option that named it, for messages
 * @where:  "URL#REF"; "#REF" is one of the server that we talk to anyway
 *
 * Returns VBD_CTL_USAGE or VBD_CTL_FAILED, told. @ret_answer, zeroed, is to be freed in any case.
 */
enum vbd_ctl_exit vbd_ctl_get_at(struct vbd_ctl *ctl, const char *option, const char *where,
	const char *collection, struct vbd_ctl_answer *ret_answer);

/**
 * vbd_ctl_fetch_list - GET every page of a collection, or as much as --limit allows, into one
 * answer
 * @collection: its path, which may have a query
 * @ret_list: {total, next, items}; the caller owns it; set only on success
 */
enum vbd_ctl_exit vbd_ctl_fetch_list(
	struct vbd_ctl *ctl, const char *collection, json_t **ret_list);

/**
 * vbd_ctl_tell_empty - say on a terminal that there is nothing in a collection
 *
 * A person who sees nothing at all wonders whether it worked; a program counts lines.
 */
void vbd_ctl_tell_empty(const char *collection);

/** vbd_ctl_list - fetch a collection and print it, as a table or as JSON */
enum vbd_ctl_exit vbd_ctl_list(struct vbd_ctl *ctl, const char *collection,
	const struct vbd_ctl_column *columns, size_t column_count);

/**
 * vbd_ctl_each - run @one for each operand
 *
 * A failure does not keep the others from their turn. Returns the first one that there was.
 */
enum vbd_ctl_exit vbd_ctl_each(
	struct vbd_ctl *ctl, enum vbd_ctl_exit (*one)(struct vbd_ctl *ctl, const char *ref));

/** vbd_ctl_delete - DELETE an object and print what became of it */
enum vbd_ctl_exit vbd_ctl_delete(
	struct vbd_ctl *ctl, const char *collection, const char *kind, const char *ref, int wait_s);

/**
 * vbd_ctl_report_problem - tell a problem that was put together here, as the server's are told
 *
 * Takes @problem over. Returns VBD_CTL_FAILED.
 */
enum vbd_ctl_exit vbd_ctl_report_problem(struct vbd_ctl *ctl, json_t *problem);

/** vbd_ctl_pause_ms - do nothing for a while */
void vbd_ctl_pause_ms(unsigned int ms);

/**
 * vbd_ctl_split_host - "HOST:PORT", "[ADDR]:PORT" or, with a port that may be missing, "HOST" or
 * "ADDR"
 * @ret_host: the caller frees it
 * @ret_port: not set if there is none
 *
 * Returns false if @text reads otherwise.
 */
bool vbd_ctl_split_host(const char *text, bool port_needed, char **ret_host, bool *ret_has_port,
	uint64_t *ret_port);

#endif
