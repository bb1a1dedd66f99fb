/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/handlers.h"

#include "api/http/auth.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "daemon/config/config.h"

/* The reload goes on. */
static void on_gone(struct vbd_request *req, void *arg)
{
	struct vbd_api *api = arg;

	(void)req;
	api->reload_req = NULL;
}

void vbd_post_reload(struct vbd_request *req)
{
	struct vbd_api *api = req->context;
	struct vbd_error err = {0};
	enum vbd_status status = VBD_OK;

	if (!api->reload)
		status = vbd_error_set(&err, VBD_E_NOT_SUPPORTED, "this verbsd can't reload");
	if (!status && api->reload_req)
		status = vbd_error_set(
			&err, VBD_E_WRONG_STATE, "another request is reloading the configuration");
	if (!status)
		status = vbd_request_park(req, 0, NULL, on_gone, api, &err);
	if (status) {
		vbd_reply_problem(req, &err);
		return;
	}
	api->reload_req = req;
	if (api->reload(api->reload_arg, &err) != VBD_OK)
		vbd_reload_answer(api, NULL, &err);
}

static void put_keys(
	struct vbd_encoder *out, const char *name, const char *const *keys, size_t count)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < count; i++)
		vbd_put_text(out, NULL, keys[i]);
	vbd_end(out);
}

size_t vbd_reload_callers(
	const struct vbd_api *api, enum vbd_caller_change change, struct vbd_encoder *out)
{
	const struct vbd_credentials *of =
		change == VBD_CALLER_REMOVED ? api->former : api->credentials;
	const struct vbd_caller *caller;
	size_t count = 0;

	for (size_t i = 0; of && (caller = vbd_credentials_at(of, i)); i++) {
		if (caller->change != change)
			continue;
		count++;
		if (out)
			vbd_put_text(out, NULL, caller->name);
	}
	return count;
}

static void put_callers(struct vbd_encoder *out, const char *name, const struct vbd_api *api,
	enum vbd_caller_change change)
{
	vbd_begin_array(out, name);
	(void)vbd_reload_callers(api, change, out);
	vbd_end(out);
}

void vbd_reload_answer(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err)
{
	struct vbd_request *req = api->reload_req;
	struct vbd_encoder out;

	if (!req)
		return;
	api->reload_req = NULL;
	if (err->status) {
		vbd_reply_problem(req, err);
		return;
	}
	out = vbd_encode_begin();
	put_keys(&out, "reloaded", changes->taken, changes->n_taken);
	put_keys(&out, "restart_needed", changes->left, changes->n_left);
	put_callers(&out, "callers_added", api, VBD_CALLER_ADDED);
	put_callers(&out, "callers_changed", api, VBD_CALLER_CHANGED);
	put_callers(&out, "callers_removed", api, VBD_CALLER_REMOVED);
	vbd_reply_json(req, 200, &out);
}
