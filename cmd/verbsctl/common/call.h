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

/* State of one run of verbsctl. */
struct vbd_ctl {
	struct vbd_ctl_args args;
	struct vbd_ctl_http http;
	bool json;  /* --json */
	bool color; /* standard output is a terminal and NO_COLOR is not set */
};

/* A kind of object, or something else that commands are about. */
struct vbd_ctl_noun {
	const char *noun;
	const char *what;	/* explanation for --help */
	const char *collection; /* path: "/v1/buffers"; NULL for none */
	/* The others are for a kind of object; NULL for something else. */
	const char *kind;	/* name of one object: "buffer" */
	const char *columns;	/* of the list (vbd_ctl_table_put()) */
	const char *brief;	/* about a new or changed object (vbd_ctl_fill()); NULL: in full */
	const char *under_way;	/* states in which a command that waits goes on */
	const char *good_state; /* state that `wait` awaits without --until; NULL: no `wait` */
	const char *alias;	/* another word for the noun, or NULL */
	int delete_wait_s;	/* longest wait for the end of a deleted object; 0: no wait */
};

/* No Prefer header. */
#define VBD_CTL_NO_WAIT -1

/* Longest wait of one long poll. */
#define VBD_CTL_LONG_POLL_MS 30000

/* Longest wait in one request, in seconds (openapi.yaml, Prefer). */
#define VBD_CTL_WAIT_MAX_S 60

/** vbd_ctl_open - set ctl->http up for the server that the options and the environment name;
 * prints the error and ends with VBD_CTL_USAGE if they are malformed */
void vbd_ctl_open(struct vbd_ctl *ctl);

/**
 * vbd_ctl_call - send a request to the server of -s
 * @body:   NULL for none
 * @wait_s: seconds for Prefer: wait=N, or VBD_CTL_NO_WAIT
 *
 * Blocks. Returns the JSON of the answer; NULL if it has none. If the answer is an error, prints it
 * and ends with its exit status.
 */
json_t *vbd_ctl_call(
	struct vbd_ctl *ctl, const char *method, const char *path, const json_t *body, int wait_s);

/* Prints the JSON of an answer for a person. */
typedef void (*vbd_ctl_put_fn)(struct vbd_ctl *ctl, json_t *object);

/** vbd_ctl_answer_put - print an answer: with --json as it is, else with @put */
void vbd_ctl_answer_put(struct vbd_ctl *ctl, json_t *answer, vbd_ctl_put_fn put);

/** vbd_ctl_unless_no_wait - @wait_s, but VBD_CTL_NO_WAIT with --no-wait */
int vbd_ctl_unless_no_wait(const struct vbd_ctl *ctl, int wait_s);

/**
 * vbd_ctl_start - POST a request that makes an object, or changes its state, and without --no-wait
 * GET the object again and again while it is under way
 * @wait_s: as in vbd_ctl_call()
 *
 * Blocks. Draws a progress bar from `bytes_done` and `length_bytes`. Returns the object.
 */
json_t *vbd_ctl_start(struct vbd_ctl *ctl, const char *path, const json_t *body, int wait_s,
	const struct vbd_ctl_noun *kind);

/**
 * vbd_ctl_get_at - GET an object of another verbsd
 * @option: name of the option that gave @where, for messages
 * @where:  "URL#REF"; "#REF" is an object of the server of -s
 *
 * Blocks. Prints the error and ends with its exit status.
 */
json_t *vbd_ctl_get_at(
	struct vbd_ctl *ctl, const char *option, const char *where, const char *collection);

/**
 * vbd_ctl_fetch_list - GET all pages of a collection, up to --limit items, as one
 * @collection: path, which may have a query
 * @after:      place to begin behind; NULL for all
 *
 * Blocks. Returns the first page with the items of all, and `next` of the last.
 */
json_t *vbd_ctl_fetch_list(struct vbd_ctl *ctl, const char *collection, const char *after);

/** vbd_ctl_list - fetch a collection and print it, as a table (vbd_ctl_table_put()) or as JSON;
 * blocks */
void vbd_ctl_list(struct vbd_ctl *ctl, const char *collection, const char *columns);

typedef void (*vbd_ctl_one_fn)(struct vbd_ctl *ctl, const char *ref);

/** vbd_ctl_each - run @one for each operand, even after one has failed, and then end with the
 * status of the first failure */
_Noreturn void vbd_ctl_each(struct vbd_ctl *ctl, vbd_ctl_one_fn one);

/** vbd_ctl_open_file - open a file to read it, and keep it; "-" is standard input; prints the error
 * and ends with VBD_CTL_FAILED */
FILE *vbd_ctl_open_file(const char *name);

/** vbd_ctl_get_quietly - GET an object that is not needed: NULL, and nothing is printed, if there
 * is none; blocks */
json_t *vbd_ctl_get_quietly(struct vbd_ctl *ctl, const char *path);

/** vbd_ctl_report_problem - print a problem that verbsctl built, in the format of the server's
 * problems, with the cause, for which it asks; returns vbd_ctl_problem_exit() of it */
enum vbd_ctl_exit vbd_ctl_report_problem(struct vbd_ctl *ctl, json_t *problem);

/** vbd_ctl_patience_ms - how long the next long poll waits: until @expires_ns of the monotonic
 * clock (0: no limit), and VBD_CTL_LONG_POLL_MS at most */
unsigned int vbd_ctl_patience_ms(uint64_t expires_ns);

/** vbd_ctl_pause_ms - sleep */
void vbd_ctl_pause_ms(unsigned int ms);

/** vbd_ctl_slow_down - after an empty page: sleep if the request, which was sent at @asked_ns of
 * the monotonic clock, was answered too early for a long poll */
void vbd_ctl_slow_down(uint64_t asked_ns);

/**
 * vbd_ctl_retry - whether a later attempt may succeed: the server is away, stopping or overloaded
 * @pause_ms: pause before the next attempt; 0 while the server answers, and before the first call
 *
 * Then prints the first failure, and sleeps, longer each time. Otherwise says that the server is
 * back, if it was away.
 */
bool vbd_ctl_retry(unsigned int *pause_ms, const struct vbd_ctl_http *http,
	const struct vbd_ctl_answer *answer);

#endif
