/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and lists, for all commands: one request and its answer, all pages of a list, one
 * request for each operand.
 *
 * One thread. Functions that send a request block until the answer has come.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_CALL_H
#define VBD_CMD_VERBSCTL_COMMON_CALL_H

#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/http.h"
#include "cmd/verbsctl/common/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State of one run of verbsctl. */
struct vbd_ctl {
	struct vbd_ctl_args args;
	struct vbd_ctl_http http;
	bool json;  /* --json */
	bool color; /* standard output is a terminal and NO_COLOR is not set */
};

/* No Prefer header. */
#define VBD_CTL_NO_WAIT -1

/* Longest wait in one request, in seconds (openapi.yaml, Prefer). */
#define VBD_CTL_WAIT_MAX_S 60

/**
 * vbd_ctl_open - set ctl->http up for the server that the options and the environment name
 *
 * Prints the error and returns VBD_CTL_USAGE if they are malformed. The caller frees ctl->http in
 * any case.
 */
enum vbd_ctl_exit vbd_ctl_open(struct vbd_ctl *ctl);

/**
 * vbd_ctl_call - send a request to the server of -s
 * @body:       freed here; NULL for none
 * @wait_s:     seconds for Prefer: wait=N, or VBD_CTL_NO_WAIT
 * @ret_answer: set in any case; the caller frees it
 *
 * Blocks. Prints the error and returns VBD_CTL_FAILED if the answer is an error.
 */
enum vbd_ctl_exit vbd_ctl_call(struct vbd_ctl *ctl, const char *method, const char *path,
	json_t *body, int wait_s, struct vbd_ctl_answer *ret_answer);

/**
 * vbd_ctl_get - GET one object; with --json also print the answer
 * @collection: path of the collection, "/v1/buffers"
 * @ref:        id or name
 * @ret_answer: set in any case; the caller frees it
 *
 * Blocks.
 */
enum vbd_ctl_exit vbd_ctl_get(struct vbd_ctl *ctl, const char *collection, const char *ref,
	struct vbd_ctl_answer *ret_answer);

/**
 * vbd_ctl_get_at - GET an object of another verbsd
 * @option:     name of the option that gave @where, for messages
 * @where:      "URL#REF"; "#REF" is an object of the server of -s
 * @ret_answer: zeroed by the caller, who frees it in any case
 *
 * Blocks. Prints the error and returns VBD_CTL_USAGE or VBD_CTL_FAILED.
 */
enum vbd_ctl_exit vbd_ctl_get_at(struct vbd_ctl *ctl, const char *option, const char *where,
	const char *collection, struct vbd_ctl_answer *ret_answer);

/**
 * vbd_ctl_fetch_list - GET all pages of a collection, up to --limit items, as one list
 * @collection: path, which may have a query
 * @ret_list:   {total, next, items}; set on success; the caller owns it
 *
 * Blocks.
 */
enum vbd_ctl_exit vbd_ctl_fetch_list(
	struct vbd_ctl *ctl, const char *collection, json_t **ret_list);

/**
 * vbd_ctl_tell_empty - on a terminal, print that a collection is empty
 *
 * A person takes an empty output for an error; a program counts lines.
 */
void vbd_ctl_tell_empty(const char *collection);

/** vbd_ctl_list - fetch a collection and print it, as a table or as JSON; blocks */
enum vbd_ctl_exit vbd_ctl_list(struct vbd_ctl *ctl, const char *collection,
	const struct vbd_ctl_column *columns, size_t column_count);

/**
 * vbd_ctl_each - run @one for each operand
 *
 * Runs all of them, even after a failure. Returns the status of the first failure.
 */
enum vbd_ctl_exit vbd_ctl_each(
	struct vbd_ctl *ctl, enum vbd_ctl_exit (*one)(struct vbd_ctl *ctl, const char *ref));

/** vbd_ctl_delete - DELETE an object and print its last state; blocks */
enum vbd_ctl_exit vbd_ctl_delete(
	struct vbd_ctl *ctl, const char *collection, const char *kind, const char *ref, int wait_s);

/**
 * vbd_ctl_report_problem - print a problem that verbsctl built, in the format of the server's
 * problems
 * @problem: freed here
 *
 * Returns VBD_CTL_FAILED.
 */
enum vbd_ctl_exit vbd_ctl_report_problem(struct vbd_ctl *ctl, json_t *problem);

/** vbd_ctl_pause_ms - sleep */
void vbd_ctl_pause_ms(unsigned int ms);

/**
 * vbd_ctl_split_host - split "HOST:PORT" or "[ADDR]:PORT"; without a port "HOST" or "ADDR" if
 * @port_needed is false
 * @ret_host: set on success; the caller frees it
 * @ret_port: set if there is a port
 *
 * Returns false if @text is malformed.
 */
bool vbd_ctl_split_host(const char *text, bool port_needed, char **ret_host, bool *ret_has_port,
	uint64_t *ret_port);

#endif
