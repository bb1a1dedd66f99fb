/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_PROBES_H
#define VBD_API_RESOURCES_PROBES_H

struct vbd_connection;
struct vbd_encoder;
struct vbd_probe_record;

/** vbd_put_probe - put the members of schema Probe */
void vbd_put_probe(struct vbd_encoder *out, const struct vbd_probe_record *record);

/** vbd_put_rtt - put schema ConnectionRtt of the connection's running or last probe, or null */
void vbd_put_rtt(
	struct vbd_encoder *out, const char *name, const struct vbd_connection *connection);

#endif
