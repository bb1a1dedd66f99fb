/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/history.h"

void vbd_history_init(struct vbd_history *history)
{
	vbd_list_init(&history->ended);
	history->count = 0;
}

void vbd_history_add(struct vbd_history *history, struct vbd_link *link)
{
	vbd_list_append(&history->ended, link);
	history->count++;
}

void vbd_history_leave(struct vbd_history *history, struct vbd_link *link)
{
	if (vbd_list_empty(link))
		return;
	vbd_list_remove(link);
	history->count--;
}

struct vbd_link *vbd_history_take_oldest(struct vbd_history *history, uint64_t kept)
{
	struct vbd_link *oldest = history->ended.next;

	if (history->count <= kept)
		return NULL;
	vbd_history_leave(history, oldest);
	return oldest;
}
