/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/rejection.h"

#include "base/status.h"

#include <ctype.h>

VBD_ENUM_NAMES(vbd_connect_refusal_name, enum vbd_connect_refusal, VBD_CONNECT_REFUSAL_MAP)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_text, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 3)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_told, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 4)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_advice, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 5)

static bool read_refusal(const char *code, struct vbd_rejection *rejection)
{
	for (enum vbd_connect_refusal i = 0; i < VBD_CONNECT_REFUSAL_COUNT; i++) {
		if (strcmp(code, vbd_connect_refusal_name(i)) != 0)
			continue;
		(void)snprintf(rejection->text, sizeof(rejection->text), "%s",
			vbd_connect_refusal_told(i));
		rejection->advice = vbd_connect_refusal_advice(i);
		return true;
	}
	return false;
}

/* The text of a status is a sentence about the side that has it. */
static bool read_status(const char *code, struct vbd_rejection *rejection)
{
	for (enum vbd_status i = 1; i < VBD_STATUS_COUNT; i++) {
		const char *text = vbd_status_text(i);

		if (strcmp(code, vbd_status_code(i)) != 0)
			continue;
		(void)snprintf(rejection->text, sizeof(rejection->text),
			"it could not accept: %c%s", tolower((unsigned char)*text), text + 1);
		rejection->advice = "See the end of the connection there: `verbsctl explain`.";
		return true;
	}
	return false;
}

/* The deadline of a request is that of the decision. */
static bool read_deadline(const char *code, struct vbd_rejection *rejection)
{
	if (strcmp(code, vbd_status_code(VBD_E_TIMED_OUT)) != 0)
		return false;
	(void)snprintf(rejection->text, sizeof(rejection->text),
		"nobody there accepted or rejected the request in time");
	rejection->advice =
		"Decide sooner there (`verbsctl accept`), or have accept_timeout_ms of that "
		"listener raised, or its accept changed to auto.";
	return true;
}

static bool read_deletion(const char *code, struct vbd_rejection *rejection)
{
	if (strcmp(code, VBD_REJECTION_LISTENER_DELETED) != 0)
		return false;
	(void)snprintf(rejection->text, sizeof(rejection->text),
		"its listener was deleted before anybody decided");
	rejection->advice =
		"Have the listener created again there (`verbsctl listen`), and connect again.";
	return true;
}

bool vbd_rejection_read(const char *words, struct vbd_rejection *ret_rejection)
{
	const char *code = words + strlen(VBD_REJECTION_PREFIX);

	if (strncmp(words, VBD_REJECTION_PREFIX, strlen(VBD_REJECTION_PREFIX)) != 0)
		return false;
	return read_refusal(code, ret_rejection) || read_deadline(code, ret_rejection) ||
	       read_deletion(code, ret_rejection) || read_status(code, ret_rejection);
}
