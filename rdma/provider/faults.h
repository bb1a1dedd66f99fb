/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that clients ask for: what is to go wrong, how often, and for which objects. The places
 * where something can go wrong ask vbd_fault_take(), but only while a fault with that effect is
 * there, so they cost one comparison without.
 *
 * Any thread; nothing here blocks for longer than another thread asks.
 */
#ifndef VBD_RDMA_PROVIDER_FAULTS_H
#define VBD_RDMA_PROVIDER_FAULTS_H

#include "base/list.h"
#include "rdma/provider/provider_calls.h"

#include <stdatomic.h>

/* X(SYMBOL, json name): what goes wrong */
#define VBD_FAULT_MAP(X)                                                                         \
	X(VBD_FAULT_HOLD_RECEIVES, "hold_receives")	    /* not posted again */               \
	X(VBD_FAULT_DELAY_COMPLETIONS, "delay_completions") /* delivered later */                \
	X(VBD_FAULT_DROP_COMPLETIONS, "drop_completions")   /* never delivered */                \
	X(VBD_FAULT_QP_ERROR, "qp_error")		    /* the queue pair is moved to ERR */ \
	X(VBD_FAULT_REFUSE_ACCEPTS, "refuse_accepts")	    /* a listener rejects requests */    \
	X(VBD_FAULT_FAIL_CALL, "fail_call")		    /* a call of the provider fails */

enum vbd_fault_effect { VBD_FAULT_MAP(VBD_ENUM_ROW) VBD_FAULT_EFFECT_COUNT };

/** vbd_fault_effect_name - "hold_receives" */
const char *vbd_fault_effect_name(enum vbd_fault_effect effect);

/* Its owner sets the members up to `link`, which is on no list, before vbd_fault_arm(). */
struct vbd_fault {
	enum vbd_fault_effect effect;
	struct vbd_fault_rule {
		enum vbd_pv_call call; /* FAIL_CALL */
		int errnum;	       /* FAIL_CALL */
		uint64_t delay_ns;     /* DELAY_COMPLETIONS */
		uint64_t after;	       /* occasions that pass first */
		uint64_t count;	       /* occasions that are hit; 0: all */
		uint32_t probability_percent;
	} rule;
	/* Is @subject meant? Called by any thread, for objects of which that thread knows that they
	 * are there. NULL: any subject is. */
	bool (*matches)(const void *arg, const void *subject);
	/* @subject was hit; called as `matches` is. NULL: nobody is told. */
	void (*on_hit)(const void *subject, enum vbd_fault_effect effect);
	const void *arg;

	struct vbd_link link;
	/* with the lock */
	uint64_t seen;	/* occasions that matched */
	uint64_t fired; /* occasions that were hit */
	uint64_t random;
};

/** vbd_fault_arm - the fault is there from now on, until vbd_fault_disarm() */
void vbd_fault_arm(struct vbd_fault *fault);

/** vbd_fault_disarm - no thread uses the fault any more; one that is not armed is ignored */
void vbd_fault_disarm(struct vbd_fault *fault);

/** vbd_fault_fired - how often it was hit */
uint64_t vbd_fault_fired(const struct vbd_fault *fault);

/** vbd_fault_hit - whether an occasion of which the owner knows is hit, which is counted */
bool vbd_fault_hit(struct vbd_fault *fault, const void *subject);

/* A bit for each effect that a fault has. */
extern atomic_uint vbd_faults_armed_effects;

/** vbd_faults_armed - whether there is a fault with the effect; the only cost where none is */
static inline bool vbd_faults_armed(enum vbd_fault_effect effect)
{
	return atomic_load_explicit(&vbd_faults_armed_effects, memory_order_relaxed) &
	       (1U << effect);
}

/**
 * vbd_fault_take - whether this occasion is hit by a fault, which counts it
 * @call:     for FAIL_CALL, else 0
 * @subject:  the object that the occasion is about, as `matches` knows it; NULL: none, which only
 *            a fault for any subject hits
 * @ret_rule: of the oldest such fault; set if the function returns true; may be NULL
 */
bool vbd_fault_take(enum vbd_fault_effect effect, enum vbd_pv_call call, const void *subject,
	struct vbd_fault_rule *ret_rule);

/* For vbd_pv_fault(). */
int vbd_pv_take_fault(enum vbd_pv_call call);

/** vbd_pv_fault - the result of @call if a client wants it to fail, for vbd_pv_failed(); else 0 */
static inline int vbd_pv_fault(enum vbd_pv_call call)
{
	return vbd_faults_armed(VBD_FAULT_FAIL_CALL) ? vbd_pv_take_fault(call) : 0;
}

/*
 * For the functions of the provider. The errno with which @expression, a call of a library, has
 * failed; 0: it has not. If a client wants the call to fail, it is not made. The macros below give
 * the errno for calls of other conventions: of one that sets errno, and of one that returns an
 * object, which @ret is set to.
 */
#define VBD_PV_RESULT(call, expression)                        \
	__extension__({                                        \
		int fault_ = vbd_pv_fault(VBD_PV_CALL_##call); \
		fault_ ? fault_ : (expression);                \
	})
#define VBD_PV_ERRNO(expression) ((expression) == 0 ? 0 : errno ? errno : VBD_PV_NO_ERRNO)
#define VBD_PV_MADE(ret, expression)                         \
	__extension__({                                      \
		errno = 0;                                   \
		__typeof__(*(ret)) made_ = (expression);     \
		if (made_)                                   \
			*(ret) = made_;                      \
		made_ ? 0 : errno ? errno : VBD_PV_NO_ERRNO; \
	})

/* The status of the call, whose text is behind @err. */
#define VBD_PV_DO(call, expression, err, ...)                                            \
	__extension__({                                                                  \
		int rc_ = VBD_PV_RESULT(call, expression);                               \
		rc_ ? vbd_pv_failed(VBD_PV_CALL_##call, rc_, err, __VA_ARGS__) : VBD_OK; \
	})

#endif
