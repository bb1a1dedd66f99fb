/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idempotency keys: the answers of POSTs with a key, so that a repeat gets the same answer and does
 * nothing. Entries, bytes and age are bounded: the oldest entry of the caller that has most is
 * deleted first, so that no caller pushes out the keys of one that has fewer. The entry of a
 * running request is never deleted.
 *
 * The store has a row for each entry. It is written before the request runs, and says then that the
 * outcome is not known: a daemon that is killed while the request runs leaves it for repeats.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_IDEMPOTENCY_H
#define VBD_API_HTTP_IDEMPOTENCY_H

#include "api/http/reply.h"
#include "daemon/store/tables.h"

#define VBD_IDEM_BYTES_MAX   VBD_ANSWERS_BYTES_MAX
#define VBD_IDEM_AGE_MAX_NS  VBD_ANSWER_AGE_MAX_NS
#define VBD_IDEM_KEY_MAX     255
#define VBD_IDEM_PRINT_BYTES VBD_ANSWER_PRINT_BYTES

struct vbd_idem;
struct vbd_idem_entry;
struct vbd_keeper;
struct vbd_uri;

/* Two requests are the same if these members have the same SHA-256. */
struct vbd_idem_request {
	const char *key;
	const char *method;
	const char *target;	   /* path */
	const struct vbd_uri *uri; /* parameters, but for `wait_ms`; NULL: none */
	const char *if_match;	   /* the header; NULL: absent */
	const char *caller;	   /* its name, without spaces */
	const void *body;
	size_t body_bytes;
};

/**
 * vbd_idem_create - make a store of up to @max entries, the caller's; NULL without memory
 * @server_id: of this run; valid as long as the store
 * @keeper: keeps the answers over a restart, and has those of earlier runs; NULL: nothing does
 */
struct vbd_idem *vbd_idem_create(size_t max, const char *server_id, struct vbd_keeper *keeper);

/** vbd_idem_keeps - whether the answer will be kept over a restart, and so has to be without
 * secrets: see struct vbd_reply */
bool vbd_idem_keeps(const struct vbd_idem_entry *entry);

/** vbd_idem_destroy - no entry may belong to a running request; @idem may be NULL */
void vbd_idem_destroy(struct vbd_idem *idem);

/**
 * vbd_idem_begin - look a key up; claim a new key
 * @now_ns:    monotonic
 * @ret_entry: the claimed entry, which the caller ends with vbd_idem_store() or vbd_idem_delete()
 * @ret_reply: a copy of the first answer if there is one; @ret_entry is NULL then
 * @ret_ticket: of the row of the claim or the first answer, for vbd_request_wait_written()
 *
 * Returns VBD_E_BAD_VALUE or VBD_E_TOO_LONG for a bad key, VBD_E_IDEMPOTENCY_CONFLICT while the
 * first request runs, VBD_E_IDEMPOTENCY_MISMATCH if the first request was a different one,
 * VBD_E_TOO_MANY_REQUESTS when every entry belongs to a running request, VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_idem_begin(struct vbd_idem *idem, const struct vbd_idem_request *request,
	uint64_t now_ns, struct vbd_idem_entry **ret_entry, struct vbd_reply *ret_reply,
	uint64_t *ret_ticket, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_idem_store - end a request that did something with its answer, which is copied
 *
 * The status does not matter: a repeat of a request that made an object or began a command must
 * not do so again. The copy has the headers Idempotency-Replayed and Idempotency-Server, which
 * tells the run that gave the answer. Without memory a repeat gets no_memory. Returns the ticket of
 * the row.
 */
uint64_t vbd_idem_store(struct vbd_idem_entry *entry, const struct vbd_reply *reply);

/** vbd_idem_delete - end a request that did nothing: a repeat runs like a first request; returns
 * the ticket of the deletion of the row; NULL is fine */
uint64_t vbd_idem_delete(struct vbd_idem_entry *entry);

/** vbd_idem_count - number of entries, for tests and stats */
size_t vbd_idem_count(const struct vbd_idem *idem);

#endif
