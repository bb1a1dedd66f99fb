/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that answer requests, one for a row of the table of routes (api/routes.c), where
 * the operation of openapi.yaml stands that says what each does. Those of several kinds of objects
 * are in api/core/task.h.
 *
 * Control thread; an answer may come in a later turn of the loop.
 */
#ifndef VBD_API_CORE_HANDLERS_H
#define VBD_API_CORE_HANDLERS_H

#include "api/http/request.h"

struct vbd_api;

typedef void vbd_handler(struct vbd_request *req);

/** vbd_create_labelled - take `labels` and `keep` out of the body, and call `create` of the route:
 * the objects that it makes get the labels, and are kept */
vbd_handler vbd_create_labelled;

/** vbd_create_keepable - make an object of a kind that can be kept, for `create` of a route;
 * vbd_create_by_hand makes a connection that asks for that */
vbd_handler vbd_create_keepable, vbd_create_by_hand;

/** vbd_delete_selected, vbd_cancel_selected, vbd_label_selected - delete the objects of the kinds
 * in `kind` that `label` or `all=true` selects, or end those that have not ended and keep their
 * records, or change their labels. Each turn of the loop handles a few objects, each before those
 * that it uses. With `dry_run=true` the answer tells which objects are selected, and nothing is
 * done. */
vbd_handler vbd_delete_selected, vbd_cancel_selected, vbd_label_selected;

/* The handlers of the other routes, by kind. */
vbd_handler vbd_get_buffer_data, vbd_open_buffer_data, vbd_put_buffer_data, vbd_get_buffer_fd,
	vbd_get_buffer_checksum, vbd_create_connection_batch, vbd_create_transfer_batch,
	vbd_list_timeline, vbd_accept_connection, vbd_reject_connection, vbd_set_remote,
	vbd_set_qp_state, vbd_list_messages, vbd_send_message, vbd_delete_messages,
	vbd_patch_listener, vbd_list_events, vbd_stream_events, vbd_create_transfer,
	vbd_list_glossary, vbd_get_glossary, vbd_explain_one, vbd_get_reachability, vbd_get_caller,
	vbd_patch_cq, vbd_get_drain, vbd_post_drain, vbd_delete_drain, vbd_get_page, vbd_get_asset,
	vbd_get_livez, vbd_get_readyz, vbd_get_index, vbd_get_contract, vbd_get_extra_contract,
	vbd_get_stats, vbd_get_traffic, vbd_get_metrics, vbd_create_srq, vbd_patch_srq,
	vbd_get_devices, vbd_list_files;

struct vbd_config_changes;

/** vbd_post_reload - begin to reload; the answer comes when that is over */
void vbd_post_reload(struct vbd_request *req);

/** vbd_reload_answer - answer the request that began to reload, if there is one
 * @err: why the old configuration stays in force; status VBD_OK: @changes are */
void vbd_reload_answer(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err);

/** vbd_reload_callers - how many callers the reload has added, changed or removed
 * @out: an array for their names; NULL: only count them */
size_t vbd_reload_callers(
	const struct vbd_api *api, enum vbd_caller_change change, struct vbd_encoder *out);

/* The audit: who did what to which object, from where, and with which outcome. Each record is a
 * line of audit_file; most are an event of the type `audit` as well. */

/** vbd_audit_init - begin with a whole ration of events about requests that failed */
enum vbd_status vbd_audit_init(struct vbd_api *api, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_audit_request - record a request that is answered, or whose client left before
 *
 * Requests that move data, thousands a second, are in the file only. Failures are events, and kept
 * in state_dir, up to a ration: no client shall push all others out of the two, which are bounded.
 */
void vbd_audit_request(struct vbd_request *req);

/** vbd_audit_refusal - record in the file that a client without a known caller was refused */
void vbd_audit_refusal(struct vbd_api *api, const char *client, const struct vbd_error *err);

/** vbd_audit_refusals_more - record in the file that @count more clients were refused */
void vbd_audit_refusals_more(struct vbd_api *api, uint64_t count);

#endif
