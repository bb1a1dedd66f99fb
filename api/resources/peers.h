/* SPDX-License-Identifier: Apache-2.0 */
/* Peers: the destinations of datagrams. Control thread. */
#ifndef VBD_API_RESOURCES_PEERS_H
#define VBD_API_RESOURCES_PEERS_H

struct vbd_request;

void vbd_create_ud_peer(struct vbd_request *req);
void vbd_delete_ud_peer(struct vbd_request *req);

#endif
