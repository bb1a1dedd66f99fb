/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners: they accept or reject connect requests, or keep them for a decision by the client.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_LISTENERS_H
#define VBD_DAEMON_CONNECTIONS_LISTENERS_H

#include "base/enum.h"
#include "daemon/connections/gate.h"
#include "daemon/core/object.h"
#include "daemon/core/turns.h"
#include "rdma/conn/listener.h"

struct vbd_device;

/* X(SYMBOL, json name) */
#define VBD_ACCEPT_MAP(X)              \
	X(VBD_ACCEPT_AUTO, "auto")     \
	X(VBD_ACCEPT_MANUAL, "manual") \
	X(VBD_ACCEPT_REJECT, "reject")

enum vbd_accept { VBD_ACCEPT_MAP(VBD_ENUM_ROW) VBD_ACCEPT_COUNT };

const char *vbd_accept_name(enum vbd_accept accept);

/* X(SYMBOL, json name, ended) */
#define VBD_LISTENER_STATE_MAP(X)                                                          \
	X(VBD_LISTENER_LISTENING, "listening", false)                                      \
	/* The device was removed; the listener listens again when the address is back. */ \
	X(VBD_LISTENER_LOST, "lost", false)

enum vbd_listener_state { VBD_LISTENER_STATE_MAP(VBD_ENUM_ROW) VBD_LISTENER_STATE_COUNT };

const char *vbd_listener_state_name(enum vbd_listener_state state);

struct vbd_listener {
	struct vbd_object object; /* first */
	enum vbd_listener_state state;
	struct vbd_cm_listener cm;
	struct sockaddr_storage
		asked_addr; /* as asked for, but with the port that was chosen for port 0 */
	struct sockaddr_storage addr; /* for a wildcard address, one of the device's addresses */
	uint32_t backlog;
	enum vbd_accept accept;
	uint32_t accept_timeout_ms;
	struct vbd_conn_params params;
	struct vbd_cm_params cm_params;
	struct vbd_error error;	 /* why the listener is LOST; VBD_OK if it is not */
	struct vbd_timer *retry; /* set while the listener is LOST */
	struct vbd_gate gate;
	uint64_t requests, accepted, rejected;
	uint64_t refused[VBD_CONNECT_REFUSAL_COUNT]; /* included in `rejected` */
	struct vbd_ration refusals;		     /* of events */
	uint32_t waiting; /* connections in REQUESTED that wait for the client's decision */
};

struct vbd_listener_spec {
	struct vbd_origin origin;
	char name[64]; /* "" for none */
	char addr[256];
	uint16_t port;
	uint32_t backlog;
	enum vbd_accept accept;
	uint32_t accept_timeout_ms;
	struct vbd_conn_params params;
	struct vbd_cm_params cm; /* its private data is sent with each accept */
	struct vbd_gate_rules gate;
};

/* A client can change these. */
struct vbd_listener_rules {
	enum vbd_accept accept;
	uint32_t accept_timeout_ms;
	struct vbd_gate_rules gate;
	struct vbd_conn_params params;
};

enum vbd_status vbd_listener_create(struct vbd_daemon *daemon, const struct vbd_listener_spec *spec,
	struct vbd_listener **ret_listener, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_listener_rules - the present rules */
struct vbd_listener_rules vbd_listener_rules(const struct vbd_listener *listener);

/** vbd_listener_change - set the rules for later requests; open connections stay. Refuses
 * parameters that the service or the device of the listener does not allow, as
 * vbd_listener_create() does */
enum vbd_status vbd_listener_change(struct vbd_listener *listener,
	const struct vbd_listener_rules *rules, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_listener_delete - stop listening and reject waiting requests; accepted connections stay */
void vbd_listener_delete(struct vbd_listener *listener);

/** vbd_listeners_device_removing - listeners on the device close their cm_id and become LOST */
void vbd_listeners_device_removing(struct vbd_daemon *daemon, const char *device_name);

/** vbd_listeners_device_added - LOST listeners try to listen again now, not only by their timers */
void vbd_listeners_device_added(struct vbd_daemon *daemon);

/** vbd_listeners_close_all - delete all listeners, because the daemon stops */
void vbd_listeners_close_all(struct vbd_daemon *daemon);

/* An address of a device; the port is the listener's. */
struct vbd_reach {
	const struct vbd_device *device;
	struct sockaddr_storage addr;
};

/**
 * vbd_listener_reach - the addresses of devices at which @listener takes requests
 * @ret_reach: for free(3); link-local addresses only if the listener has one itself
 *
 * Returns their number: 0 while the listener is lost, or if no active port has such an address.
 * Without memory for all it is the number of those that it found before.
 */
size_t vbd_listener_reach(const struct vbd_listener *listener, struct vbd_reach **ret_reach);

#endif
