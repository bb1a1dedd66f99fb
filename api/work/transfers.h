/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers: their JSON, and the answer to a request that creates one.
 *
 * Control thread.
 */
#ifndef VBD_API_WORK_TRANSFERS_H
#define VBD_API_WORK_TRANSFERS_H

#include "api/json/decode.h"
#include "daemon/core/batch.h"
#include "rdma/device/op.h"

struct vbd_daemon;
struct vbd_request;
struct vbd_encoder;
struct vbd_origin;
struct vbd_transfer_spec;

/* The rows of the members ud_peer and multicast_membership, the destination of a datagram, in
 * @spec_, a struct vbd_transfer_spec. */
#define VBD_DESTINATION_FIELDS(struct_, spec_)                                                   \
	{VBD_FIELD_OF(UD_PEER, "ud_peer", struct_, spec_.peer)},                                 \
	{                                                                                        \
		VBD_FIELD_OF(MULTICAST_MEMBERSHIP, "multicast_membership", struct_, spec_.group) \
	}

/** vbd_transfer_decode - decode TransferCreate and find the named objects; @ret_spec has the
 * members when all but the objects is right; @faults: see vbd_decode_all() */
enum vbd_status vbd_transfer_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, struct vbd_transfer_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

/* --- batches: a list of objects in one request ------------------------------------------------ */

struct vbd_batch_input {
	const json_t *items;
	uint32_t count; /* of each item; 1 if the request does not say it */
};

/* The objects of a request, as they are being made. */
struct vbd_batch_made {
	struct vbd_object *objects[VBD_BATCH_MAX];
	uint32_t count;
};

/* Lists of transfers and of connections differ in this. */
struct vbd_batch_form {
	const char *singular;
	const struct vbd_batch_ops *ops;
	const struct vbd_field *fields; /* of struct vbd_batch_input */
	size_t n_fields;
	/* Prepare what an item of the list describes, or nothing. */
	enum vbd_status (*prepare)(struct vbd_request *req, const struct vbd_batch_input *input,
		const json_t *json, struct vbd_batch_made *made, struct vbd_error *err);
};

/** vbd_batch_answer - make a batch of all items of the request, or nothing, and answer as
 * vbd_task_answer() */
void vbd_batch_answer(struct vbd_request *req, const struct vbd_batch_form *form);

/* --- memory of the peer ---------------------------------------------------------------------- */

struct vbd_remote_input {
	uint64_t addr;
	uint32_t rkey;
	uint64_t offset_bytes; /* from addr */
	uint64_t size_bytes;   /* of the memory that begins at addr */
	bool size_seen;	       /* else the size is unknown */
	const json_t *access;  /* names of accesses that the peer granted; NULL: unknown */
};

/** vbd_remote_decode - decode `remote`; VBD_E_MISSING_FIELD says why a copy has no addr or rkey */
enum vbd_status vbd_remote_decode(const json_t *remote, struct vbd_remote_input *ret_input,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_remote_aim - check that the peer's memory has room for the operation, and allows it
 * @length_pointer: the member of the request that says how long the operation is
 * @ret_addr:       the address of the first byte
 *
 * VBD_E_OUT_OF_RANGE, VBD_E_BAD_VALUE.
 */
enum vbd_status vbd_remote_aim(const struct vbd_remote_input *input, enum vbd_op op,
	uint64_t length_bytes, const char *length_pointer, uint64_t *ret_addr,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
