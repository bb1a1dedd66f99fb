/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that clients ask for, to test how programs recover: only with `fault_injection` in the
 * configuration. Each expires after a while. docs/faults.md tells users of them.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_FAULTS_FAULTS_H
#define VBD_DAEMON_FAULTS_FAULTS_H

#include "daemon/core/labels.h"
#include "daemon/core/object.h"
#include "daemon/core/turns.h"
#include "rdma/provider/faults.h"

#define VBD_FAULT_EXPIRES_MS	 600000	  /* default of expires_ms */
#define VBD_FAULT_EXPIRES_MS_MAX 86400000 /* a day */
#define VBD_FAULT_DELAY_MS_MAX	 60000

/* A fault hits the connections, or with REFUSE_ACCEPTS the listeners, that match all members. */
struct vbd_fault_target {
	uint64_t id;		   /* 0: any */
	char name[VBD_NAME_BYTES]; /* "": any */
	struct vbd_label_selector selector;
	char selector_text[256]; /* "": none */
};

struct vbd_fault_spec {
	struct vbd_origin origin;
	char name[VBD_NAME_BYTES]; /* "" for none */
	enum vbd_fault_effect effect;
	struct vbd_fault_rule rule;
	struct vbd_fault_target target;
	bool call_seen, errnum_seen, delay_seen;
	uint64_t expires_ms;
};

struct vbd_fault_record {
	struct vbd_object object; /* first */
	struct vbd_fault fault;
	struct vbd_fault_target target;
	uint64_t expires_ns;
	uint64_t told;		/* hits that events have reported */
	struct vbd_steps sweep; /* QP_ERROR: the walk through the connections */
	uint64_t swept_id;	/* of the last connection that it looked at */
};

/**
 * vbd_fault_create - arm a fault; QP_ERROR begins to walk through the connections in the next turn
 *
 * Returns VBD_E_FAULT_INJECTION_OFF; VBD_E_MISSING_FIELD or VBD_E_BAD_VALUE with the member that is
 * missing, or has no meaning with the effect; errors of vbd_object_create().
 */
enum vbd_status vbd_fault_create(struct vbd_daemon *daemon, const struct vbd_fault_spec *spec,
	struct vbd_fault_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fault_delete - disarm and free the fault; what it has withheld goes on */
void vbd_fault_delete(struct vbd_fault_record *record);

#endif
