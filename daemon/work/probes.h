/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe service: deadline, cancel, and the history of ended probes. A connection has at most
 * one running probe.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_WORK_PROBES_H
#define VBD_DAEMON_WORK_PROBES_H

#include "base/enum.h"
#include "daemon/connections/connections.h"
#include "daemon/core/object.h"
#include "rdma/data/probe.h"

#define VBD_PROBE_COUNT_MAX 1000000

/* X(SYMBOL, json name, ended) */
#define VBD_PROBE_STATE_MAP(X)                 \
	X(VBD_PROBE_RUNNING, "running", false) \
	X(VBD_PROBE_DONE, "done", true)        \
	X(VBD_PROBE_FAILED, "failed", true)    \
	X(VBD_PROBE_CANCELLED, "cancelled", true)

enum vbd_probe_state { VBD_PROBE_STATE_MAP(VBD_ENUM_ROW) VBD_PROBE_STATE_COUNT };

/** vbd_probe_state_name - "running" */
const char *vbd_probe_state_name(enum vbd_probe_state state);

struct vbd_probe_record {
	struct vbd_object object; /* first */
	struct vbd_probe probe;
	enum vbd_probe_state state;
	struct vbd_connection *connection; /* NULL once the probe has ended */
	uint64_t connection_id;
	uint32_t timeout_ms;	/* 0: none */
	bool stopping;		/* its deadline has passed or a client cancelled it */
	bool late;		/* @stopping because of the deadline */
	struct vbd_error error; /* why the probe is FAILED */
};

struct vbd_probe_spec {
	struct vbd_origin origin;
	struct vbd_connection *connection;
	enum vbd_probe_kind kind;
	uint32_t count;	      /* 1 to VBD_PROBE_COUNT_MAX; 0: until the probe is cancelled */
	uint32_t interval_ms; /* 0: each ping follows the last answer; not without a count */
	uint32_t size_bytes;  /* as in struct vbd_probe; ACK: 0 */
	uint32_t timeout_ms;  /* of all pings together; 0: no deadline */
};

/**
 * vbd_probe_create - check and start
 *
 * VBD_E_WRONG_STATE (connection not established), _BAD_VALUE (wrong service, a size for a kind
 * without one, neither count nor interval), _OUT_OF_RANGE (size), _NOT_SUPPORTED (ACK: the
 * transport or the device has no acknowledgements), _IN_USE (the connection has a running probe).
 */
enum vbd_status vbd_probe_create(struct vbd_daemon *daemon, const struct vbd_probe_spec *spec,
	struct vbd_probe_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_probe_of - the running probe of @connection, or else its last one while the record is kept;
 * NULL if there is none */
const struct vbd_probe_record *vbd_probe_of(const struct vbd_connection *connection);

/** vbd_probes_totals - add up the counters of all probes of @kind since the start */
void vbd_probes_totals(const struct vbd_daemon *daemon, enum vbd_probe_kind kind,
	struct vbd_probe_counters *ret_totals);

#endif
