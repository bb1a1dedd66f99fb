/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/probe.h"

#include "rdma/channel.h"

void vbd_probe_start(struct vbd_probe *probe)
{
	vbd_worker_send(probe->channel->worker, &probe->mail_start, VBD_WORKER_START_PROBE);
}

void vbd_probe_stop(struct vbd_probe *probe)
{
	/* The drain ends it anyway, and a letter behind the drain letter could outlive the channel.
	 */
	if (probe->stop_sent || probe->ended_back || probe->channel->drain_sent)
		return;
	probe->stop_sent = true;
	vbd_worker_send(probe->channel->worker, &probe->mail_stop, VBD_WORKER_STOP_PROBE);
}

void vbd_probe_on_letter(struct vbd_probe *probe, enum vbd_control_letter letter)
{
	if (letter == VBD_CONTROL_PROBE_ENDED)
		probe->ended_back = true;
	else
		probe->stop_back = true;
	/* With every letter back its memory may go. */
	if (probe->ended_back && (!probe->stop_sent || probe->stop_back))
		probe->ended(probe, probe->arg);
}
