/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers: their JSON, and the answer to a request that creates one.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_TRANSFERS_H
#define VBD_API_RESOURCES_TRANSFERS_H

#include "api/json/decode.h"

#include <jansson.h>

struct vbd_daemon;
struct vbd_encoder;
struct vbd_origin;
struct vbd_request;
struct vbd_transfer_record;
struct vbd_transfer_spec;

/* The members ud_peer and multicast_membership of a request: the destination of a datagram. */
struct vbd_destination_input {
	struct vbd_json_ref peer, group;
};

/** vbd_destination_resolve - set `peer` or `group` of @spec; not_found has the member's pointer */
enum vbd_status vbd_destination_resolve(struct vbd_daemon *daemon,
	const struct vbd_destination_input *input, struct vbd_transfer_spec *spec,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_decode - decode TransferCreate and find the named objects; @ret_spec has the
 * members when all but the objects is right; @faults: see vbd_decode_all() */
enum vbd_status vbd_transfer_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, struct vbd_transfer_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_put_transfer - put the members of schema Transfer */
void vbd_put_transfer(struct vbd_encoder *out, const struct vbd_transfer_record *record);

/** vbd_transfer_answer - answer a POST of a transfer, when the transfer or the wait ends */
void vbd_transfer_answer(struct vbd_request *req, struct vbd_transfer_record *record);

#endif
