/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/faults.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdarg.h>

VBD_ENUM_NAMES(vbd_fault_effect_name, enum vbd_fault_effect, VBD_FAULT_MAP)

atomic_uint vbd_faults_armed_effects;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vbd_link faults = {&faults, &faults}; /* with the lock; the oldest first */

static void update_armed_effects(void)
{
	unsigned int effects = 0;

	vbd_list_for_each_of (struct vbd_fault, fault, link, &faults)
		effects |= 1U << fault->effect;
	atomic_store_explicit(&vbd_faults_armed_effects, effects, memory_order_relaxed);
}

void vbd_fault_arm(struct vbd_fault *fault)
{
	(void)pthread_mutex_lock(&lock);
	fault->seen = fault->fired = 0;
	fault->random = vbd_clock_mono_ns() | 1;
	vbd_list_append(&faults, &fault->link);
	update_armed_effects();
	(void)pthread_mutex_unlock(&lock);
}

void vbd_fault_disarm(struct vbd_fault *fault)
{
	(void)pthread_mutex_lock(&lock);
	vbd_list_remove(&fault->link);
	update_armed_effects();
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
static bool draw_hit(struct vbd_fault *fault)
{
	fault->random ^= fault->random << 13;
	fault->random ^= fault->random >> 7;
	fault->random ^= fault->random << 17;
	return (fault->random >> 32) % 100 < fault->rule.probability_percent;
}

static bool count_and_hit(struct vbd_fault *fault, const void *subject)
{
	const struct vbd_fault_rule *rule = &fault->rule;

	if (fault->matches && (!subject || !fault->matches(fault->arg, subject)))
		return false;
	if (fault->seen++ < rule->after || (rule->count && fault->fired >= rule->count))
		return false;
	if (!draw_hit(fault))
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
	hit = count_and_hit(fault, subject);
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
	vbd_list_for_each_of (struct vbd_fault, fault, link, &faults) {
		hit = fault->effect == effect && fault->rule.call == call &&
		      count_and_hit(fault, subject);
		if (!hit)
			continue;
		if (ret_rule)
			*ret_rule = fault->rule;
		break;
	}
	(void)pthread_mutex_unlock(&lock);
	return hit;
}

/* The calls of the provider that can fail. */

VBD_ENUM_NAMES(vbd_pv_call_name, enum vbd_pv_call, VBD_PV_CALL_MAP)
VBD_ENUM_COLUMN(const char *, vbd_pv_call_library, enum vbd_pv_call, VBD_PV_CALL_MAP, 3)
static VBD_ENUM_COLUMN(enum vbd_status, usual_status, enum vbd_pv_call, VBD_PV_CALL_MAP, 4)

	static enum vbd_status status_of_failed_call(enum vbd_pv_call call, int errnum)
{
	static const struct {
		enum vbd_pv_call call;
		int errnum;
		enum vbd_status status;
	} others[] = {
		{VBD_PV_CALL_ALLOC_MW, ENOMEM, VBD_E_DEVICE_LIMIT},
		{VBD_PV_CALL_BIND_ADDR, ENODEV, VBD_E_ADDRESS_NOT_AVAILABLE},
		{VBD_PV_CALL_CREATE_EVENT_CHANNEL, ENOENT, VBD_E_NO_DEVICE},
		{VBD_PV_CALL_RESOLVE_ADDR, EADDRINUSE, VBD_OK},
		{VBD_PV_CALL_RESOLVE_ADDR, EADDRNOTAVAIL, VBD_OK},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(others); i++) {
		if (others[i].call == call && others[i].errnum == errnum)
			return others[i].status;
	}
	return usual_status(call);
}

int vbd_pv_take_fault(enum vbd_pv_call call)
{
	struct vbd_fault_rule rule;

	return vbd_fault_take(VBD_FAULT_FAIL_CALL, call, NULL, &rule)
		       ? rule.errnum | VBD_PV_ON_PURPOSE
		       : 0;
}

enum vbd_status vbd_pv_failed(
	enum vbd_pv_call call, int rc, struct vbd_error *err, const char *fmt, ...)
{
	char what[160] = "a fault makes this call fail";
	bool on_purpose = rc > 0 && rc & VBD_PV_ON_PURPOSE;
	int errnum = abs(rc) & ~(VBD_PV_ON_PURPOSE | VBD_PV_NO_ERRNO);
	va_list ap;

	if (on_purpose && err && err->status == VBD_OK)
		err->on_purpose = true;
	va_start(ap, fmt);
	if (!on_purpose)
		(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return vbd_error_errno(err, status_of_failed_call(call, errnum), vbd_pv_call_library(call),
		errnum, "%s", what);
}
