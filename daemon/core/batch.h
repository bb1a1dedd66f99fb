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

/* A set of outcomes. */
#define VBD_OUTCOMES(outcome_) (1U << (outcome_))

/* The differences between a batch of transfers and one of connections. */
struct vbd_batch_ops {
	enum vbd_event_type created, ended;
	/* How many objects are cancelled in about a millisecond. */
	uint32_t cancels_per_turn;
	/* An outcome is an index of `outcome_names`: what has become of the object so far. */
	unsigned int outcomes;
	const char *const *outcome_names;
	unsigned int (*outcome_of)(const struct vbd_object *object);
	/* Sets of outcomes, a bit each: the final ones, and the final ones that are failures. */
	unsigned int final, failures;
	/* The failed completion that ended an object; NULL: the kind has none. */
	void (*first_error)(const struct vbd_object *object, struct vbd_first_error *ret_first);
	/* Append an event: the object is one of the batch. Before any is started. NULL: none. */
	void (*announce)(struct vbd_object *object, uint64_t batch_id);
	void (*start)(struct vbd_object *object);
	/* Free an object that is not announced, as if it had never been. */
	void (*discard)(struct vbd_object *object);
};

/* Each is in the file of its kind of objects. */
extern const struct vbd_batch_ops vbd_transfer_batch_ops, vbd_connection_batch_ops;

struct vbd_batch;

/* An object of a batch. */
struct vbd_batch_item {
	struct vbd_watch watch;
	struct vbd_batch *batch;
	struct vbd_object *object; /* NULL once its outcome is final */
	uint64_t id;
	unsigned int outcome; /* at the last change of the object */
};

struct vbd_batch {
	struct vbd_object object; /* first */
	const struct vbd_batch_ops *ops;
	const struct vbd_registry *of; /* the registry of its objects */
	enum vbd_batch_state state;
	struct vbd_batch_item *items;
	uint32_t count;
	uint32_t open;		     /* objects whose outcome is not final */
	struct vbd_steps cancelling; /* waits for its turn while there are objects to cancel */
	uint32_t cancelled;	     /* objects before this one were cancelled, or have ended */
	/* The error of the object that failed first. */
	struct vbd_error error;
	struct vbd_first_error first_error; /* status VBD_OK if there was no failed completion */
	struct vbd_failures failures;
	uint64_t failed_connection; /* of the object that failed first; 0: none */
};

/**
 * vbd_batch_create - make a batch of prepared objects, and start them in their order
 * @registry: of the batches
 * @objects:  prepared in this turn; the batch has the origin of the first. The caller discards them
 *            if this fails
 * @count:    1 to VBD_BATCH_MAX
 *
 * VBD_E_LIMIT_REACHED, _NO_MEMORY.
 */
enum vbd_status vbd_batch_create(struct vbd_registry *registry, const struct vbd_batch_ops *ops,
	struct vbd_object *const *objects, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_batch_outcome - the outcome of an object of the batch, which may be gone */
unsigned int vbd_batch_outcome(const struct vbd_batch_item *item);

#endif
