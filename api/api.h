/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API of a daemon: its routes on an HTTP server, with the roles, hosts and limits of the
 * configuration.
 *
 * Control thread.
 */
#ifndef VBD_API_API_H
#define VBD_API_API_H

#include "api/http/server.h"
#include "daemon/daemon.h"

struct vbd_api;

/**
 * vbd_api_create - serve the daemon's API
 * @callers: taken over and zeroed, if there is memory for them
 * @sockets: listening, owned by the API on success; @count: up to VBD_SERVER_SOCKETS_MAX
 *
 * The sockets come from api/http/listen.h or from the process that started the daemon.
 */
enum vbd_status vbd_api_create(struct vbd_daemon *daemon, struct vbd_caller_list *callers,
	const struct vbd_server_socket *sockets, size_t count, struct vbd_api **ret_api,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_api_keep - keep the objects of the configuration and of earlier runs, and make them; once
 * @specs: checked by vbd_api_check_specs()
 */
void vbd_api_keep(struct vbd_api *api, const struct vbd_config_specs *specs);

/** vbd_api_use_specs - keep the objects that the reloaded @specs ask for; see vbd_api_keep() */
void vbd_api_use_specs(struct vbd_api *api, const struct vbd_config_specs *specs);

/** vbd_api_check_specs - whether all of @specs can be understood; the error's text begins with
 * "path:line: "; any thread */
enum vbd_status vbd_api_check_specs(
	const struct vbd_config_specs *specs, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_api_on_reload - let clients of the role "control" reload the configuration
 * @reload: begins it, or returns an error; vbd_api_reloaded() follows
 */
void vbd_api_on_reload(struct vbd_api *api,
	enum vbd_status (*reload)(void *arg, struct vbd_error *err), void *arg);

/** vbd_api_use_callers - replace the allowed callers; @callers as of vbd_api_create() */
enum vbd_status vbd_api_use_callers(
	struct vbd_api *api, struct vbd_caller_list *callers, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_api_use_tls - use the certificates of @tls for later handshakes; takes its reference */
void vbd_api_use_tls(struct vbd_api *api, struct vbd_tls *tls);

/** vbd_api_reloaded - a reload is over: append an event, and answer the request that asked for it
 * @err: VBD_OK in it if @changes are in force now */
void vbd_api_reloaded(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err);

/**
 * vbd_api_stop - accept no new clients, answer parked requests, call @stopped in a later turn
 * @grace_ms: time for answers that are being sent
 *
 * Call this after the callback of vbd_daemon_stop(), so that the API answers while the daemon ends
 * its RDMA connections.
 */
void vbd_api_stop(struct vbd_api *api, uint64_t grace_ms, void (*stopped)(void *arg), void *arg);

/** vbd_api_destroy - call before vbd_daemon_destroy(), outside of handlers; @api may be NULL */
void vbd_api_destroy(struct vbd_api *api);

/** vbd_routes - the table of all routes; static */
struct vbd_router vbd_routes(void);

#endif
