/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member `remote` of a request: memory of the peer. A client can give the peer's Buffer or
 * Window as its verbsd shows it; members that are not needed are ignored.
 *
 * Any thread.
 */
#ifndef VBD_API_RESOURCES_REMOTE_H
#define VBD_API_RESOURCES_REMOTE_H

#include "base/attr.h"
#include "base/error.h"
#include "rdma/device/op.h"

#include <jansson.h>

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
