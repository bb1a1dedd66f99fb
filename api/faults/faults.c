/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "base/clock.h"
#include "daemon/faults/faults.h"

static void put_target(struct vbd_encoder *out, const struct vbd_fault_target *target)
{
	char id[VBD_REF_TEXT_BYTES] = "";

	if (target->id)
		(void)snprintf(id, sizeof(id), "%" PRIu64, target->id);
	vbd_put_text_or_null(out, "target", target->id ? id : target->name);
	vbd_put_text_or_null(out, "selector", target->selector_text);
}

static void encode_fault(struct vbd_encoder *out, const void *item)
{
	const struct vbd_fault_record *record = item;
	const struct vbd_fault_rule *rule = &record->fault.rule;
	bool fails = record->fault.effect == VBD_FAULT_FAIL_CALL;

	vbd_put_object(out, &record->object);
	vbd_put_text(out, "effect", vbd_fault_effect_name(record->fault.effect));
	put_target(out, &record->target);
	vbd_put_text_or_null(out, "call", fails ? vbd_pv_call_name(rule->call) : "");
	vbd_put_text_or_null(out, "errno", fails ? vbd_errno_name(rule->errnum) : "");
	vbd_put_u64_or_null(out, "delay_ms", record->fault.effect == VBD_FAULT_DELAY_COMPLETIONS,
		rule->delay_ns / VBD_NS_PER_MS);
	vbd_put_u64(out, "after", rule->after);
	vbd_put_u64_or_null(out, "count", rule->count != 0, rule->count);
	vbd_put_u64(out, "probability_percent", rule->probability_percent);
	vbd_put_u64(out, "fired", vbd_fault_fired(&record->fault));
	vbd_put_time(out, "created_at", record->object.created_ns);
	vbd_put_time(out, "expires_at", record->expires_ns);
}

/* --- creation -------------------------------------------------------------------------------- */

struct fault_create {
	struct vbd_fault_spec spec;
	struct vbd_json_ref target;
	const char *selector;
	const char *errno_name;
	uint64_t delay_ms;
};

static const char *const effect_names[] = {VBD_FAULT_MAP(VBD_ENUM_NAME)};
static const char *const call_names[] = {VBD_PV_CALL_MAP(VBD_ENUM_NAME)};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct fault_create, spec.name)},
	{VBD_FIELD(ENUM, "effect", struct fault_create, spec.effect), .required = true,
		VBD_NAMES(effect_names)},
	{VBD_FIELD(REF, "target", struct fault_create, target)},
	{VBD_FIELD(STRING, "selector", struct fault_create, selector), .min = 1, .max = 255},
	{VBD_FIELD(ENUM, "call", struct fault_create, spec.rule.call), VBD_NAMES(call_names),
		VBD_FIELD_SEEN(struct fault_create, spec.call_seen)},
	{VBD_FIELD(STRING, "errno", struct fault_create, errno_name), .min = 2, .max = 31,
		VBD_FIELD_SEEN(struct fault_create, spec.errnum_seen)},
	{VBD_FIELD(UINT, "delay_ms", struct fault_create, delay_ms), .min = 1,
		.max = VBD_FAULT_DELAY_MS_MAX,
		VBD_FIELD_SEEN(struct fault_create, spec.delay_seen)},
	{VBD_FIELD(UINT, "after", struct fault_create, spec.rule.after), .max = INT64_MAX},
	{VBD_FIELD(UINT, "count", struct fault_create, spec.rule.count), .min = 1,
		.max = INT64_MAX},
	{VBD_FIELD(UINT, "probability_percent", struct fault_create, spec.rule.probability_percent),
		.min = 1, .max = 100},
	{VBD_FIELD(UINT, "expires_ms", struct fault_create, spec.expires_ms), .min = 1,
		.max = VBD_FAULT_EXPIRES_MS_MAX},
};

/* Linux' largest. */
#define ERRNUM_MAX 133

static enum vbd_status take_errno(
	const char *name, struct vbd_fault_spec *spec, struct vbd_error *err)
{
	spec->rule.errnum = EIO;
	if (!name)
		return VBD_OK;
	for (int i = 1; i <= ERRNUM_MAX; i++) {
		spec->rule.errnum = i;
		if (strcmp(vbd_errno_name(i), name) == 0)
			return VBD_OK;
	}
	return vbd_error_input(err, VBD_E_BAD_VALUE, "/errno",
		"/errno: '%.31s' is not the name of an errno, as in ENOMEM or EIO", name);
}

static enum vbd_status take_target(
	const struct fault_create *input, struct vbd_fault_spec *spec, struct vbd_error *err)
{
	struct vbd_fault_target *target = &spec->target;

	target->id = input->target.id;
	vbd_copy_text(target->name, sizeof(target->name), input->target.name);
	vbd_copy_text(target->selector_text, sizeof(target->selector_text), input->selector);
	if (!input->selector)
		return VBD_OK;
	return vbd_label_selector_parse(&target->selector, input->selector, "/selector", err);
}

static void *create_fault(struct vbd_request *req, struct vbd_error *err)
{
	struct fault_create input = {.spec = {.origin = vbd_request_origin(req),
					     .rule.probability_percent = 100,
					     .expires_ms = VBD_FAULT_EXPIRES_MS}};
	struct vbd_fault_spec *spec = &input.spec;
	struct vbd_fault_record *record = NULL;
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(create_fields), &input, err);

	spec->rule.delay_ns = input.delay_ms * VBD_NS_PER_MS;
	if (!status)
		status = take_errno(input.errno_name, spec, err);
	if (!status)
		status = take_target(&input, spec, err);
	if (!status)
		status = vbd_fault_create(vbd_request_daemon(req), spec, &record, err);
	return status ? NULL : record;
}

/* --- list ------------------------------------------------------------------------------------ */

static const char *by_effect(const void *item)
{
	return vbd_fault_effect_name(((const struct vbd_fault_record *)item)->fault.effect);
}

static const struct vbd_page_column fault_columns[] = {
	VBD_COLUMN_NAME,
	{"effect", VBD_SORTS, .text = by_effect},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

static enum vbd_status remove_fault(struct vbd_object *object, struct vbd_error *err)
{
	(void)err;
	vbd_fault_delete(VBD_CONTAINER_OF(object, struct vbd_fault_record, object));
	return VBD_OK;
}

const struct vbd_task_kind vbd_fault_task = {
	.kind = VBD_KIND_FAULT,
	.create = create_fault,
	.remove = remove_fault,
	.page.members = vbd_fault_members,
	.page.columns = fault_columns,
	.page.encode = encode_fault,
};
