/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard, health, the index, openapi.yaml and counters. Control thread. */
#ifndef VBD_API_RESOURCES_META_H
#define VBD_API_RESOURCES_META_H

struct vbd_request;

void vbd_get_page(struct vbd_request *req);
void vbd_get_asset(struct vbd_request *req);

void vbd_get_livez(struct vbd_request *req);
void vbd_get_readyz(struct vbd_request *req);
void vbd_get_index(struct vbd_request *req);
void vbd_get_contract(struct vbd_request *req);

void vbd_get_stats(struct vbd_request *req);
void vbd_get_metrics(struct vbd_request *req);

#endif
