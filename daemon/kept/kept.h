/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept objects: listeners, buffers and connections that are to be there, whatever happens. Each has
 * a spec, which is the body of the POST that makes the object, from the configuration or from a
 * request with `keep: true`. The reconciler makes the object after a start, and again when it has
 * gone with a device or a peer.
 *
 * The spec names its references (pd, cq, srq), so that each try finds those of its time.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_KEPT_KEPT_H
#define VBD_DAEMON_KEPT_KEPT_H

#include "base/enum.h"
#include "daemon/core/object.h"
#include "daemon/kept/kept_fsm.h"

/* X(SYMBOL, json name): where a spec comes from */
#define VBD_KEPT_SOURCE_MAP(X)            \
	X(VBD_KEPT_FROM_CONFIG, "config") \
	X(VBD_KEPT_FROM_API, "api")

enum vbd_kept_source { VBD_KEPT_SOURCE_MAP(VBD_ENUM_ROW) VBD_KEPT_SOURCE_COUNT };

const char *vbd_kept_source_name(enum vbd_kept_source source);

/* X(SYMBOL, json name): whether another connection follows one that has ended */
#define VBD_RECONNECT_MAP(X)                                                             \
	X(VBD_RECONNECT_NEVER, "never")		  /* none does */                        \
	X(VBD_RECONNECT_ON_FAILURE, "on_failure") /* unless it ended without an error */ \
	X(VBD_RECONNECT_ALWAYS, "always")	  /* unless a client of this daemon closed it */

enum vbd_reconnect { VBD_RECONNECT_MAP(VBD_ENUM_ROW) VBD_RECONNECT_COUNT };

const char *vbd_reconnect_name(enum vbd_reconnect reconnect);

#define VBD_RECONNECT_MIN_MS 500   /* default of min_ms */
#define VBD_RECONNECT_MAX_MS 30000 /* default of max_ms */

/* Default of heartbeat_ms of a kept connection, where the device and the transport have heartbeats:
 * a dead peer is noticed in 15 s. */
#define VBD_KEPT_HEARTBEAT_MS 5000

struct vbd_kept_policy {
	enum vbd_reconnect reconnect; /* of a connection only */
	/* The pause before a try: min_ms, doubled after each failure up to max_ms; a random part of
	 * up to half of it is left out, so that many do not try at once. */
	uint32_t min_ms, max_ms;
};

struct vbd_held;

/* An object that is to be kept. The body is the caller's. */
struct vbd_kept_spec {
	enum vbd_object_kind of; /* VBD_KIND_LISTENER, _BUFFER or _CONNECTION */
	enum vbd_kept_source source;
	struct vbd_origin origin;
	char name[VBD_NAME_BYTES]; /* never "" */
	const char *body;	   /* JSON, without `keep` */
	struct vbd_kept_policy policy;
	bool stored; /* its row is in state_dir already */
};

struct vbd_kept {
	struct vbd_object object; /* first; its name is that of the object that is kept */
	enum vbd_object_kind of;
	enum vbd_kept_source source;
	enum vbd_kept_state state;
	struct vbd_kept_policy policy;
	char *body;
	uint64_t made_id;     /* of the newest object; 0: none was made yet */
	uint64_t previous_id; /* of the object before it, as it is now; 0: none */
	uint64_t tries;
	uint32_t failures;			  /* since the object was up for max_ms */
	uint64_t last_try_ns, next_try_ns, up_ns; /* monotonic; 0: none */
	struct vbd_error last_error; /* of the newest try, or of the end of what it made */
	uint64_t same_since; /* the first of the newest tries that failed alike; 0: the newest has
				not failed */
	enum vbd_status same_status; /* how they fail, with the raw value */
	int64_t same_raw;
	struct vbd_watch watch;	  /* of the newest object; on no list when that is not watched */
	struct vbd_link due_link; /* in the reconciler's queue */
	struct vbd_held *held;	  /* of a shared buffer: its bytes over a restart; NULL: none */
	uint64_t ticket;	  /* of its row in state_dir; see vbd_keeper_put_desired() */
};

/* The layer above makes objects, and reads rows, for the reconciler. */
struct vbd_kept_ops {
	/* Make the object of a spec, with the origin of @kept, or make @before (a lost buffer, or
	 * an ended object; NULL: none) usable again. The object may become usable later. */
	enum vbd_status (*make)(struct vbd_kept *kept, struct vbd_object *before,
		struct vbd_object **ret_object, struct vbd_error *err);
	/* Keep what earlier runs were asked to keep, as far as it was read since the last call. */
	void (*take_rows)(struct vbd_daemon *daemon);
};

/**
 * vbd_kept_add - keep an object
 * @ret_kept: it is tried in a turn to come
 *
 * Everything in @spec is copied, or referenced. Returns VBD_E_NAME_TAKEN if another object of any
 * kind is kept under the name, VBD_E_LIMIT_REACHED, VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_kept_add(struct vbd_daemon *daemon, const struct vbd_kept_spec *spec,
	struct vbd_kept **ret_kept, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_kept_prepare - as vbd_kept_add(), for a request that makes the object itself
 *
 * No event tells of it, and nothing tries, until vbd_kept_adopt(); vbd_kept_settle() follows in
 * the same turn.
 */
enum vbd_status vbd_kept_prepare(struct vbd_daemon *daemon, const struct vbd_kept_spec *spec,
	struct vbd_kept **ret_kept, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_kept_adopt - a request has made @object: it is what vbd_kept_prepare() was for, if that was
 * called */
void vbd_kept_adopt(struct vbd_object *object);

/** vbd_kept_prepared - whether a new object of this kind and name is prepared
 */
bool vbd_kept_prepared(const struct vbd_daemon *daemon, enum vbd_object_kind of, const char *name);

/** vbd_kept_settle - the request is over: free @kept if no object was adopted for it
 */
void vbd_kept_settle(struct vbd_kept *kept);

/** vbd_kept_of - the kept object under whose name @object is the newest of its kind; NULL if there
 * is none */
struct vbd_kept *vbd_kept_of(const struct vbd_object *object);

/** vbd_kept_absent - the kept object of this kind and name, if no object of this run is what it
 * keeps: none was made yet, or the newest has gone; NULL otherwise */
struct vbd_kept *vbd_kept_absent(const struct vbd_registry *registry, const char *name);

/** vbd_kept_ticket - that of the row in state_dir, for vbd_keeper_has(); VBD_TICKET_NONE if @object
 * is not kept, or has no row */
uint64_t vbd_kept_ticket(const struct vbd_object *object);

/** vbd_kept_rest - a client closes a connection that has ended: no other try follows, until the
 * next start or another spec; NULL is fine */
void vbd_kept_rest(struct vbd_kept *kept);

/** vbd_kept_drop - a client has deleted the object, or wants it kept no longer: forget the spec,
 * here and in state_dir; the object stays as it is; NULL is fine; returns the ticket of the
 * deletion in state_dir */
uint64_t vbd_kept_drop(struct vbd_kept *kept);

/**
 * vbd_kept_use_config - keep what the configuration lists now
 *
 * An object that it lists no longer is ended; one with another spec is ended and made again; those
 * of requests stay. What can't be kept is logged.
 */
void vbd_kept_use_config(
	struct vbd_daemon *daemon, const struct vbd_kept_spec *specs, size_t count);

/** vbd_kept_outlives - whether the object is kept by the next run of the daemon as well */
bool vbd_kept_outlives(const struct vbd_kept *kept);

/** vbd_kept_bytes_outlive - whether the next run has a kept buffer with the bytes of this one */
bool vbd_kept_bytes_outlive(const struct vbd_kept *kept);

#endif
