/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `answers`: Idempotency-Keys and the answers of their requests, without secrets.
 */
#ifndef VBD_DAEMON_STORE_ANSWER_TABLE_H
#define VBD_DAEMON_STORE_ANSWER_TABLE_H

#include "base/attr.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define VBD_ANSWER_PRINT_BYTES 32

/* An answer is given to repeats for so long, and bodies have at most so many bytes together. */
#define VBD_ANSWER_AGE_MAX_NS (600 * UINT64_C(1000000000))
#define VBD_ANSWERS_BYTES_MAX ((size_t)16777216)

struct vbd_database;
struct vbd_store;

/* An answer that a repeat of its request gets. The texts are the caller's. */
struct vbd_answer {
	const char *key; /* "CALLER KEY" */
	uint8_t print[VBD_ANSWER_PRINT_BYTES];
	uint64_t begun_wall_ns;
	unsigned int status;
	const char *code;	  /* of a problem; "" for none */
	const char *content_type; /* "" without a body */
	const char *headers;	  /* "Location: /v1/buffers/7\n", a line each */
	const void *body;
	size_t body_bytes;
};

/* Rows for the control thread, the oldest first. */
struct vbd_answers;

/** vbd_answers_free - NULL is fine */
void vbd_answers_free(struct vbd_answers *answers);

/** vbd_answers_walk - call @cb for each, the oldest first; NULL: none */
void vbd_answers_walk(const struct vbd_answers *answers,
	void (*cb)(const struct vbd_answer *answer, void *arg), void *arg);

/** vbd_answer_table_load - the answers of requests since @since_wall_ns; the caller frees them; the
 * store's thread */
enum vbd_status vbd_answer_table_load(struct vbd_database *database, uint64_t since_wall_ns,
	struct vbd_answers **ret_answers, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_answer_table_trim - delete the answers of requests before @since_wall_ns; the control thread
 * deletes those above the limits; the store's thread */
enum vbd_status vbd_answer_table_trim(struct vbd_database *database, uint64_t since_wall_ns,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_answer_put - keep an answer, which is copied, in place of the one of its key, or with the
 * status 0 delete that one; returns the ticket of vbd_store_put(); the control thread */
uint64_t vbd_answer_put(struct vbd_store *store, const struct vbd_answer *answer);

#endif
