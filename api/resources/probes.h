/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_PROBES_H
#define VBD_API_RESOURCES_PROBES_H

#include <jansson.h>

struct vbd_connection;
struct vbd_probe_record;
struct vbd_request;

/** vbd_encode_probe - schema Probe; NULL without memory */
json_t *vbd_encode_probe(const struct vbd_probe_record *record);

/** vbd_encode_rtt - schema ConnectionRtt of the connection's running or last probe, or null */
json_t *vbd_encode_rtt(const struct vbd_connection *connection);

void vbd_create_probe(struct vbd_request *req);

#endif
