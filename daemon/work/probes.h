/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes as resources: one at a time over a connection; deadline, cancel, and the records of those
 * that ended.
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

/* X(SYMBOL, json name) */
#define VBD_PROBE_STATE_MAP(X)          \
	X(VBD_PROBE_RUNNING, "running") \
	X(VBD_PROBE_DONE, "done")       \
	X(VBD_PROBE_FAILED, "failed")

enum vbd_probe_state { VBD_PROBE_STATE_MAP(VBD_ENUM_ROW) VBD_PROBE_STATE_COUNT };

/** vbd_probe_state_name - "running" */
const char *vbd_probe_state_name(enum vbd_probe_state state);

struct vbd_probe_record {
	struct vbd_object object; /* first */
	struct vbd_daemon *daemon;
	struct vbd_probe probe;
	enum vbd_probe_state state;
	struct vbd_connection *connection; /* NULL once it has ended */
	uint64_t connection_id;
	uint32_t timeout_ms;	/* 0: none */
	bool stopping;		/* its deadline has passed or a client cancelled it */
	bool late;		/* it was the deadline */
	struct vbd_error error; /* why it is FAILED */
};

struct vbd_probe_spec {
	struct vbd_connection *connection;
	enum vbd_probe_kind kind;
	uint32_t count;	      /* up to VBD_PROBE_COUNT_MAX; 0: until it is cancelled */
	uint32_t interval_ms; /* 0: one behind the other; not without a count */
	uint32_t size_bytes;  /* as in struct vbd_probe; ACK: 0 */
	uint32_t timeout_ms;  /* of all pings together; 0: none */
};

/**
 * vbd_probe_create - check and start
 *
 * wrong_state (connection not established), bad_value (its service is another, a size that the kind
 * has not, neither count nor interval), out_of_range (size), not_supported (ACK: the transport or
 * the device has no acknowledgements), in_use (a probe runs on it).
 */
enum vbd_status vbd_probe_create(struct vbd_daemon *daemon, const struct vbd_probe_spec *spec,
	struct vbd_probe_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_probe_of - the one that runs over @connection, or else its last one while its record is
 * kept; NULL if there is none */
const struct vbd_probe_record *vbd_probe_of(const struct vbd_connection *connection);

/** vbd_probes_totals - what all probes of @kind have counted since the start */
void vbd_probes_totals(const struct vbd_daemon *daemon, enum vbd_probe_kind kind,
	struct vbd_probe_counters *ret_totals);

#endif
