/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_cm_error.h"

#include "rdma/device/cm_silence.h"
#include "rdma/device/device.h"
#include "rdma/fabric/fabric.h"
#include "rdma/names/names.h"
#include "rdma/names/rejection.h"
#include "rdma/provider/provider.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* librdmacm has an event of its own for a device that it can't open (ucma_init_device()). */
#define CANT_OPEN_DEVICE (-1)

static void cant_open(const struct vbd_fabric *fabric, struct vbd_error *error)
{
	const struct vbd_device *failed = vbd_fabric_failed_device(fabric, NULL);

	if (failed)
		(void)vbd_error_set(error, failed->error.status, "%s", failed->error.text);
	else
		(void)vbd_error_set(
			error, VBD_E_ADDR_ERROR, "librdmacm can't open the device of the address");
}

static void of_address(const struct vbd_fabric *fabric, struct vbd_error *error)
{
	switch (error->raw) {
	case -EMFILE:
		(void)vbd_error_set(error, VBD_E_FD_LIMIT,
			"librdmacm can't open the device of the address: no file descriptor is "
			"left");
		break;
	case CANT_OPEN_DEVICE:
		cant_open(fabric, error);
		break;
	case -ENODEV:
		error->hint = "Connect to an address that an interface with an RDMA device "
			      "(`rdma link`) leads to, or name that device or its address.";
		(void)vbd_error_set(error, VBD_E_ADDR_ERROR,
			"the interface that leads to the address has no RDMA device (ENODEV)");
		break;
	default:
		break;
	}
}

/* The private data of the rejection says why, if a verbsd made it without a client. */
static void of_rejection(const struct vbd_pv_cm_event *event, struct vbd_error *error)
{
	char words[VBD_PRIVATE_DATA_BYTES + 1] = "";
	struct vbd_rejection rejection;

	memcpy(words, event->private_data, event->private_data_bytes);
	if (!vbd_rejection_read(words, &rejection))
		return;
	error->hint = rejection.advice;
	(void)vbd_error_set(error, VBD_E_REJECTED, "refused: %s", rejection.text);
}

void vbd_cm_error_of_event(const struct vbd_fabric *fabric, const struct vbd_pv_cm_event *event,
	enum vbd_status status, struct vbd_error *ret_error)
{
	const char *text = event->type == RDMA_CM_EVENT_REJECTED
				   ? vbd_cm_reject_name(event->status)
				   : vbd_cm_event_text((int)event->type);

	*ret_error = (struct vbd_error){
		.source = VBD_SOURCE_CM_EVENT,
		.kind = (int)event->type,
		.raw = event->status,
	};
	if (event->type == RDMA_CM_EVENT_ADDR_ERROR)
		of_address(fabric, ret_error);
	if (event->type == RDMA_CM_EVENT_REJECTED)
		of_rejection(event, ret_error);
	(void)vbd_error_set(ret_error, status, "%s", text);
}

void vbd_cm_error_of_silence(const struct vbd_device *device, struct vbd_error *error)
{
	size_t used = strlen(error->text);

	if (!device || !vbd_cm_is_silent(device))
		return;
	error->hint = VBD_CM_SILENCE_HINT;
	(void)snprintf(error->text + used, sizeof(error->text) - used,
		"; no CM message has come in on %s since its interface was down: Soft-RoCE may "
		"have gone deaf",
		device->name);
}

void vbd_cm_error_of_connect(struct vbd_error *error)
{
	struct vbd_error judged = *error;

	if (error->source != VBD_SOURCE_ERRNO)
		return;
	judged.status = VBD_OK;
	if (error->raw == ECONNREFUSED)
		(void)vbd_error_set(&judged, VBD_E_REJECTED,
			"nobody listens on that port: rdma_connect: %s (ECONNREFUSED)",
			strerror(ECONNREFUSED));
	else if (error->raw == ETIMEDOUT || error->raw == EHOSTUNREACH || error->raw == ENETUNREACH)
		(void)vbd_error_set(&judged, VBD_E_UNREACHABLE,
			"the peer's host does not answer: rdma_connect: %s (%s)",
			strerror((int)error->raw), vbd_errno_name((int)error->raw));
	else
		return;
	*error = judged;
}
