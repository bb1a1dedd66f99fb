/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's context: everything that the control thread owns, put together. Services take the
 * context as their first argument; the layer above reads objects directly and changes them through
 * the services only.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_CONTEXT_H
#define VBD_DAEMON_CORE_CONTEXT_H

#include "base/enum.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/list.h"
#include "daemon/config/config.h"
#include "daemon/core/caller.h"
#include "daemon/core/eventlog.h"
#include "daemon/core/kinds.h"
#include "daemon/core/loop.h"
#include "daemon/core/registry.h"
#include "daemon/core/turns.h"
#include "rdma/conn/conn_fsm.h"
#include "rdma/data/transfer.h"
#include "rdma/device/op.h"
#include "rdma/names/rejection.h"
#include "rdma/names/reason.h"

struct vbd_audit;
struct vbd_connection;
struct vbd_fabric;
struct vbd_health;
struct vbd_hotplug;
struct vbd_keeper;
struct vbd_kernel;
struct vbd_reconciler;
struct vbd_recorder;
struct vbd_traces;

/* X(SYMBOL, json name) */
#define VBD_DRAIN_STATE_MAP(X)                                  \
	X(VBD_DRAIN_SERVING, "serving")                         \
	/* Nothing new begins; transfers are under way. */      \
	X(VBD_DRAIN_DRAINING, "draining")                       \
	/* Nothing new begins, and no transfer is under way. */ \
	X(VBD_DRAIN_DRAINED, "drained")

enum vbd_drain_state { VBD_DRAIN_STATE_MAP(VBD_ENUM_ROW) VBD_DRAIN_STATE_COUNT };

/** vbd_drain_state_name - "draining" */
const char *vbd_drain_state_name(enum vbd_drain_state state);

struct vbd_drain {
	enum vbd_drain_state state;
	uint64_t since_ns;	 /* the drain began; 0 while SERVING */
	uint64_t deadline_ns;	 /* transfers are cancelled then; 0: never */
	struct vbd_timer *timer; /* of the deadline, then of the cancels */
	uint64_t cancelled_id;	 /* transfers up to this one are cancelled */
	struct vbd_link watches; /* of struct vbd_watch: the state has changed */
};

/* X(SYMBOL, name, STATE): a phase of connecting, and the connection state that it lasts for */
#define VBD_PHASE_MAP(X)                             \
	X(VBD_PHASE_ADDR, "addr", RESOLVING_ADDR)    \
	X(VBD_PHASE_ROUTE, "route", RESOLVING_ROUTE) \
	X(VBD_PHASE_CONNECT, "connect", CONNECTING)  \
	X(VBD_PHASE_ACCEPT, "accept", ACCEPTING)

enum vbd_phase { VBD_PHASE_MAP(VBD_ENUM_ROW) VBD_PHASE_COUNT };

/** vbd_phase_name - "addr" */
const char *vbd_phase_name(enum vbd_phase phase);

/* Durations in ns of successful phases and, by operation, of successful transfers. */
struct vbd_daemon_times {
	struct vbd_histogram phases[VBD_PHASE_COUNT];
	struct vbd_histogram queued[VBD_OP_COUNT]; /* from the request to the first post */
	struct vbd_histogram wire[VBD_OP_COUNT];   /* from the first post to the last completion */
};

#define VBD_SERVER_ID_BYTES 17 /* with the NUL */

/* `wanted`: an object was put into `unrecorded`; `dropped`: an object that has a row in the store
 * is gone for good; `replaced`: an object with a row has got another id. */
struct vbd_record_ops {
	void (*wanted)(struct vbd_daemon *daemon);
	void (*dropped)(struct vbd_daemon *daemon, enum vbd_object_kind kind, uint64_t id);
	void (*replaced)(
		struct vbd_daemon *daemon, enum vbd_object_kind kind, uint64_t id, uint64_t new_id);
};

struct vbd_daemon {
	const struct vbd_config *config;
	struct vbd_loop *loop;
	struct vbd_turns turns; /* struct vbd_steps that wait for their next turn */
	struct vbd_fabric *fabric;
	struct vbd_eventlog *eventlog;
	struct vbd_audit *audit;       /* NULL without audit_file */
	struct vbd_keeper *keeper;     /* NULL without state_dir */
	struct vbd_recorder *recorder; /* the keeper's; NULL without one */
	struct vbd_hotplug *hotplug;   /* device events, link events and CM polls */
	struct vbd_health *health;     /* beats of the other threads */
	struct vbd_kernel *kernel;     /* counters and resource counts that the kernel reports */
	struct vbd_traces *traces;     /* counters as they were before something began */
	struct vbd_reconciler *reconciler; /* makes the kept objects */
#define VBD_KIND_REGISTRY(sym, singular, plural, open, kept) struct vbd_registry *plural;
	VBD_KIND_MAP(VBD_KIND_REGISTRY) /* with the objects of the history */
#undef VBD_KIND_REGISTRY
	struct vbd_callers callers;
	char server_id[VBD_SERVER_ID_BYTES]; /* random, hex; differs for every run */
	uint64_t started_ns;
	bool stopping;
	/* The daemon stops, and all connections are being closed. Pool threads read this too. */
	atomic_bool closing;
	struct vbd_drain drain;
	uint64_t last_device_id;	/* while there is no fabric, which counts them */
	struct vbd_link device_watches; /* of struct vbd_watch: a device changed */
	struct vbd_link id_watches;	/* of struct vbd_watch: a CM id was destroyed */
	uint64_t buffers_bytes;		/* memory of all buffers */
	uint32_t pool_jobs;	/* registrations, checksums, address handles on the thread pool */
	uint32_t looks_running; /* on the thread pool, for connections that have failed */
	bool farewell_hangs;	/* a call of vbd_pv_tell() has not returned */
	/* totals of ended objects */
	uint64_t connections_closed, connections_failed;
	uint64_t connections_in_state[VBD_CONN_STATE_COUNT]; /* of those that have not ended */
	struct vbd_link queued_connections;	 /* struct vbd_connection, the first is the next */
	struct vbd_link unannounced_connections; /* no event has told of their creation */
	struct vbd_link unrecorded; /* objects of kinds with a history that have changed */
	const struct vbd_record_ops *record_ops; /* NULL: nothing outlives the daemon */
	uint64_t closed_id;	/* of the connection that was closed last, as the daemon stops */
	struct vbd_steps queue; /* announces and starts those */
	uint64_t connects_in_flight;   /* number of connections from the queue that connect now */
	uint64_t connections_accepted; /* open; a listener accepted them, or will decide */
	uint64_t connects_refused[VBD_CONNECT_REFUSAL_COUNT];
	uint32_t receives_open; /* transfers with op recv that have not ended */
	uint64_t transfers_ended[VBD_TRANSFER_STATE_COUNT];
	uint64_t probes_done, probes_failed, probes_cancelled;
	uint64_t windows_revoked, windows_failed;
	struct vbd_daemon_times times;
	uint64_t connections_ended[VBD_REASON_COUNT], ud_endpoints_ended[VBD_REASON_COUNT];
	uint64_t peer_refusals[VBD_REFUSAL_COUNT];
	uint64_t reports_refused;      /* of peers; see daemon/observe/report.h */
	uint64_t reports_full_ns[256]; /* base/clock.h, by a hash of the peer's address */
	uint64_t event_stream_missed;  /* events that clients of streams did not get */
	/* Called when a connection enters a state but ESTABLISHED: ends its windows. Set by
	 * daemon.c. */
	void (*connection_left)(struct vbd_connection *connection);
	/* Called when the end of a connection has begun with a failure, and when it has ended:
	 * keeps the facts of the first moment. Set by daemon.c. */
	void (*connection_failed)(struct vbd_connection *connection);
	/* Called when a listener with the service FILES has got a connection: makes the copy. Set
	 * by daemon.c. */
	void (*files_requested)(struct vbd_connection *connection);
	struct vbd_connection *connections_by_qps; /* see daemon/connections/peer_reports.h */
	void (*stopped)(void *arg);		   /* see vbd_daemon_stop() */
	void *stopped_arg;
	struct vbd_timer *stop_timer;
	struct vbd_deferred stop_check;
	/* Memory of the receives of connections and endpoints, and of SRQs that are being made. */
	uint64_t qp_receives_bytes;
	/* Unread messages of ended connections and endpoints. */
	struct vbd_link kept_inboxes; /* of struct vbd_inbox, the oldest end first */
	uint64_t kept_messages_bytes;
	uint64_t messages_dropped; /* of any inbox, to make room or for lack of memory */
	struct vbd_registry registries[VBD_KIND_COUNT]; /* by kind; unused for a kind without one */
};

/** vbd_daemon_accepts_work - VBD_OK; VBD_E_STOPPING while the daemon stops, or VBD_E_DRAINING */
enum vbd_status vbd_daemon_accepts_work(
	const struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_daemon_check_stop - check at the next turn whether a stopping daemon has stopped, or a
 * draining one has drained; call this function after an object ended */
void vbd_daemon_check_stop(struct vbd_daemon *daemon);

#endif
