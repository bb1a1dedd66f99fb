/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who moves the bytes of a transfer: a connection or an endpoint.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CARRIER_H
#define VBD_DAEMON_CARRIER_H

#include "daemon/connections.h"
#include "daemon/endpoints.h"

/* One of the two; none once the transfer has ended. */
struct vbd_carrier {
	struct vbd_connection *connection;
	struct vbd_endpoint_record *endpoint;
};

/* "connection 18446744073709551615" and its NUL. */
#define VBD_CARRIER_TEXT_BYTES 40

static inline bool vbd_carrier_is_gone(const struct vbd_carrier *carrier)
{
	return !carrier->connection && !carrier->endpoint;
}

/** vbd_carrier_text - "endpoint 7"; returns @text */
char *vbd_carrier_text(const struct vbd_carrier *carrier, char text[VBD_CARRIER_TEXT_BYTES]);

/** vbd_carrier_pointer - the member of a request that names it: "/connection" */
const char *vbd_carrier_pointer(const struct vbd_carrier *carrier);

/** vbd_carrier_check - can it move anything now? VBD_OK, or wrong_state. What is below wants it to
 * have said yes. */
enum vbd_status vbd_carrier_check(
	const struct vbd_carrier *carrier, struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_channel *vbd_carrier_channel(const struct vbd_carrier *carrier);
struct vbd_pd *vbd_carrier_pd(const struct vbd_carrier *carrier);

/** vbd_carrier_reason - why it ends; NONE if it does not */
enum vbd_reason vbd_carrier_reason(const struct vbd_carrier *carrier);

/** vbd_carrier_add - a transfer of it, until its link is removed */
void vbd_carrier_add(const struct vbd_carrier *carrier, struct vbd_link *link);

/** vbd_carrier_fail - end it: work requests of @transfer do not come back */
void vbd_carrier_fail(
	const struct vbd_carrier *carrier, const struct vbd_error *why, uint64_t transfer);

/** vbd_carrier_close - end it because a client wants what it holds to end */
void vbd_carrier_close(const struct vbd_carrier *carrier);

#endif
