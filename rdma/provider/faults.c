/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/faults.h"

#include "base/clock.h"

#include <pthread.h>

VBD_ENUM_NAMES(vbd_fault_effect_name, enum vbd_fault_effect, VBD_FAULT_MAP)

atomic_uint vbd_faults_armed_effects;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vbd_link faults = {&faults, &faults}; /* with the lock; the oldest first */

static struct vbd_fault *fault_at(struct vbd_link *link)
{
	return VBD_CONTAINER_OF(link, struct vbd_fault, link);
}

static void note_effects(void)
{
	unsigned int effects = 0;

	vbd_list_for_each (link, &faults)
		effects |= 1U << fault_at(link)->effect;
	atomic_store_explicit(&vbd_faults_armed_effects, effects, memory_order_relaxed);
}

void vbd_fault_arm(struct vbd_fault *fault)
{
	(void)pthread_mutex_lock(&lock);
	fault->seen = fault->fired = 0;
	fault->random = vbd_clock_mono_ns() | 1;
	vbd_list_append(&faults, &fault->link);
	note_effects();
	(void)pthread_mutex_unlock(&lock);
}

void vbd_fault_disarm(struct vbd_fault *fault)
{
	(void)pthread_mutex_lock(&lock);
	vbd_list_remove(&fault->link);
	note_effects();
	(void)pthread_mutex_unlock(&lock);
}

uint64_t vbd_fault_fired(const struct vbd_fault *fault)
{
	uint64_t fired;

	(void)pthread_mutex_lock(&lock);
	fired = fault->fired;
	(void)pthread_mutex_unlock(&lock);
	return fired;
}

/* xorshift64: nobody needs better numbers to lose some completions. */
static bool is_drawn(struct vbd_fault *fault)
{
	fault->random ^= fault->random << 13;
	fault->random ^= fault->random >> 7;
	fault->random ^= fault->random << 17;
	return (fault->random >> 32) % 100 < fault->rule.probability_percent;
}

static bool hits(struct vbd_fault *fault, const void *subject)
{
	const struct vbd_fault_rule *rule = &fault->rule;

	if (fault->matches && (!subject || !fault->matches(fault->arg, subject)))
		return false;
	if (fault->seen++ < rule->after || (rule->count && fault->fired >= rule->count))
		return false;
	if (!is_drawn(fault))
		return false;
	fault->fired++;
	if (fault->on_hit && subject)
		fault->on_hit(subject, fault->effect);
	return true;
}

bool vbd_fault_hit(struct vbd_fault *fault, const void *subject)
{
	bool hit;

	(void)pthread_mutex_lock(&lock);
	hit = hits(fault, subject);
	(void)pthread_mutex_unlock(&lock);
	return hit;
}

bool vbd_fault_take(enum vbd_fault_effect effect, enum vbd_pv_call call, const void *subject,
	struct vbd_fault_rule *ret_rule)
{
	bool hit = false;

	if (!vbd_faults_armed(effect))
		return false;
	(void)pthread_mutex_lock(&lock);
	vbd_list_for_each (link, &faults) {
		struct vbd_fault *fault = fault_at(link);

		hit = fault->effect == effect && fault->rule.call == call && hits(fault, subject);
		if (!hit)
			continue;
		if (ret_rule)
			*ret_rule = fault->rule;
		break;
	}
	(void)pthread_mutex_unlock(&lock);
	return hit;
}

/*
 * The functions of the provider that can fail: each fails if a fault of a client says so, and is
 * the provider's own function else.
 */

VBD_ENUM_NAMES(vbd_pv_call_name, enum vbd_pv_call, VBD_PV_CALL_MAP)

/* VBD_OK, or the status with which the call is to fail: then @err is as if the library's function
 * had failed. */
static enum vbd_status failure_of(enum vbd_pv_call call, struct vbd_error *err)
{
#define CALL_OF(symbol, name, function, library, ...) [symbol] = library,
	static const char *const calls[] = {VBD_PV_CALL_MAP(CALL_OF)};
#undef CALL_OF
#define STATUS_OF(symbol, name, function, library, status, ...) [symbol] = (status),
	static const enum vbd_status statuses[] = {VBD_PV_CALL_MAP(STATUS_OF)};
#undef STATUS_OF
	struct vbd_fault_rule rule;

	if (!vbd_fault_take(VBD_FAULT_FAIL_CALL, call, NULL, &rule))
		return VBD_OK;
	if (err && err->status == VBD_OK)
		err->on_purpose = true;
	return vbd_error_errno(
		err, statuses[call], calls[call], rule.errnum, "a fault makes this call fail");
}

/* clang-format off */
#define PLAIN_CALL(symbol, name, function, library, status_, parameters, arguments)         \
	enum vbd_status vbd_pv_##function parameters                                         \
	{                                                                                    \
		enum vbd_status status =                                                     \
			vbd_faults_armed(VBD_FAULT_FAIL_CALL) ? failure_of(symbol, err) : VBD_OK; \
                                                                                             \
		return status ? status : vbd_impl_##function arguments;                      \
	}

VBD_PV_PLAIN_CALL_MAP(PLAIN_CALL)

#define POST_CALL(symbol, name, function, library, status_, parameters, arguments)          \
	enum vbd_status vbd_pv_##function parameters                                         \
	{                                                                                    \
		enum vbd_status status =                                                     \
			vbd_faults_armed(VBD_FAULT_FAIL_CALL) ? failure_of(symbol, err) : VBD_OK; \
                                                                                             \
		if (!status)                                                                 \
			return vbd_impl_##function arguments;                                \
		*ret_bad = wr;                                                               \
		return status;                                                               \
	}

VBD_PV_POST_CALL_MAP(POST_CALL)
/* clang-format on */
