/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: objects that one request has made together, and their common outcome. The objects are
 * normal ones: each is listed and ends by itself, and stays when the batch has ended.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_BATCH_H
#define VBD_DAEMON_CORE_BATCH_H

#include "base/enum.h"
#include "daemon/core/event_types.h"
#include "daemon/core/registry.h"
#include "daemon/core/turns.h"
#include "daemon/core/watch.h"
#include "rdma/names/reason.h"

/* Objects of one batch. */
#define VBD_BATCH_MAX 1000

/* Failures that are kept; the others are counted. */
#define VBD_FAILURES_MAX 100

struct vbd_failure {
	const char *kind; /* "connection"; static */
	uint64_t id;
	char name[VBD_NAME_BYTES];
	struct vbd_error err;
};

/* The objects of many that failed, and why. Zeroed: without failures. */
struct vbd_failures {
	struct vbd_failure *items; /* NULL: none, or no memory for them */
	size_t count;		   /* of items */
	size_t total;
};

/** vbd_failures_add - @object failed with @err */
void vbd_failures_add(struct vbd_failures *failures, const struct vbd_object *object,
	const struct vbd_error *err);

/** vbd_failures_fini - free the failures, and zero @failures */
void vbd_failures_fini(struct vbd_failures *failures);

/* X(SYMBOL, json name, ended) */
#define VBD_BATCH_STATE_MAP(X)                 \
	X(VBD_BATCH_RUNNING, "running", false) \
	X(VBD_BATCH_DONE, "done", true)        \
	X(VBD_BATCH_FAILED, "failed", true)

enum vbd_batch_state { VBD_BATCH_STATE_MAP(VBD_ENUM_ROW) VBD_BATCH_STATE_COUNT };

/** vbd_batch_state_name - "running" */
const char *vbd_batch_state_name(enum vbd_batch_state state);

#define VBD_BATCH_OUTCOMES_MAX 8

/* A batch of transfers and one of connections differ in this. */
struct vbd_batch_ops {
	enum vbd_event_type created, ended;
	/* How many objects are cancelled in about a millisecond. */
	uint32_t cancels_per_turn;
	/* An outcome is a number below `outcomes`: the object's fate so far. */
	unsigned int outcomes;
	const char *(*outcome_name)(unsigned int outcome);
	unsigned int (*outcome_of)(const struct vbd_object *object);
	/* The object does not count any more. */
	bool (*is_final)(unsigned int outcome);
	bool (*is_failure)(unsigned int outcome);
	/* The failed completion that ended an object; NULL: none is told. */
	void (*first_error)(const struct vbd_object *object, struct vbd_first_error *ret_first);
};

struct vbd_batch;

/* An object of a batch. */
struct vbd_batch_item {
	struct vbd_watch watch;
	struct vbd_batch *batch;
	struct vbd_object *object; /* NULL once its outcome is final */
	uint64_t id;
	unsigned int outcome; /* when the object has changed last */
};

struct vbd_batch {
	struct vbd_object object; /* first */
	const struct vbd_batch_ops *ops;
	const struct vbd_registry *of; /* the registry of its objects */
	enum vbd_batch_state state;
	struct vbd_batch_item *items;
	uint32_t count;
	uint32_t open; /* objects whose outcome is not final */
	uint64_t ended_ns;
	struct vbd_steps cancelling; /* waits for its turn while there are objects to cancel */
	uint32_t cancelled;	     /* objects before this one were cancelled, or have ended */
	/* The error of the object that failed first. */
	struct vbd_error error;
	struct vbd_first_error first_error; /* status VBD_OK if there was no failed completion */
	struct vbd_failures failures;
	uint64_t failed_connection; /* of the object that failed first; 0: none */
};

/**
 * vbd_batch_begin - make a batch for @count objects, and append its first event
 * @registry: of the batches
 * @first:    the object that vbd_batch_add() adds first; it adds all before the next turn. The
 *            batch has the same origin
 * @count:    1 to VBD_BATCH_MAX
 *
 * VBD_E_LIMIT_REACHED, _NO_MEMORY.
 */
enum vbd_status vbd_batch_begin(struct vbd_registry *registry, const struct vbd_batch_ops *ops,
	const struct vbd_object *first, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_batch_add - put the next object into a batch */
void vbd_batch_add(struct vbd_batch *batch, struct vbd_object *object);

/** vbd_batch_outcome - the outcome of an object of the batch, which may be gone */
unsigned int vbd_batch_outcome(const struct vbd_batch_item *item);

/* The functions of a kind. To cancel a batch cancels its objects whose outcome is not final. */
void vbd_batch_cancel(struct vbd_object *object);
const char *vbd_batch_state_of(const struct vbd_object *object);
void vbd_batch_problem(const struct vbd_object *object, struct vbd_error *ret_err);
void vbd_batch_free(struct vbd_object *object);

/* The struct vbd_kind of a kind of batches. */
#define VBD_BATCH_KIND                                                          \
	{                                                                       \
		.size_bytes = sizeof(struct vbd_batch), .keeps_history = true,  \
		.connection_at = offsetof(struct vbd_batch, failed_connection), \
		.cancel = vbd_batch_cancel, .state = vbd_batch_state_of,        \
		.problem = vbd_batch_problem, .free = vbd_batch_free,           \
	}

#endif
