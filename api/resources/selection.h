/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations on all objects that `label`, or `all=true`, selects: they are looked for, and then
 * ended, a few in each turn of the loop. With `dry_run=true` the answer tells which objects are
 * selected, and nothing is done.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_SELECTION_H
#define VBD_API_RESOURCES_SELECTION_H

struct vbd_request;

/** vbd_delete_selected - delete the selected objects of the route's `task`; the answer tells what
 * became of them */
void vbd_delete_selected(struct vbd_request *req);

/** vbd_cancel_selected - as vbd_delete_selected(), but end those that have not ended, and keep
 * their records */
void vbd_cancel_selected(struct vbd_request *req);

#endif
