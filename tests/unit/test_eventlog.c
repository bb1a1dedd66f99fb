/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/eventlog.h"

#include "base/log.h"
#include "daemon/core/caller.h"
#include "daemon/core/watch.h"
#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

struct fixture {
	struct vbd_eventlog *eventlog;
	struct vbd_error err;
	struct vbd_watch watch;
	struct vbd_watch second;
	struct vbd_watch third;
	int calls;
	int second_calls;
	int gone_calls;
	enum vbd_log_level logged_level;
	char logged_object[64];
	char logged_text[256];
};

static void on_log(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	struct fixture *f = arg;

	f->logged_level = level;
	strncpy(f->logged_object, object ? object : "", sizeof(f->logged_object) - 1);
	strncpy(f->logged_text, text, sizeof(f->logged_text) - 1);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(vbd_eventlog_create(4, &f->eventlog, &f->err), VBD_OK);
	vbd_list_init(&f->watch.link);
	vbd_list_init(&f->second.link);
	vbd_list_init(&f->third.link);
	vbd_log_setup(VBD_LOG_DEBUG, VBD_LOG_TEXT);
	vbd_log_set_observer(on_log, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vbd_eventlog_destroy(f->eventlog);
	vbd_log_set_observer(NULL, NULL);
	free(f);
	return 0;
}

#define EVENTLOG_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static uint64_t append(struct fixture *f, enum vbd_event_type type, enum vbd_severity severity,
	enum vbd_object_kind kind, uint64_t id)
{
	const struct vbd_event event = {
		.type = type, .severity = severity, .kind = kind, .object_id = id, .name = "front"};

	return vbd_eventlog_append(f->eventlog, &event, "text");
}

static void append_one(struct fixture *f)
{
	(void)append(f, VBD_EVENT_CONNECTION_CM_EVENT, VBD_SEVERITY_INFO, VBD_KIND_CONNECTION, 7);
}

EVENTLOG_TEST(test_eventlog__an_empty_log_starts_at_1)
{
	const struct vbd_event_filter all = {0};

	assert_int_equal(vbd_eventlog_first(f->eventlog), 1);
	assert_int_equal(vbd_eventlog_last(f->eventlog), 0);
	assert_int_equal(vbd_eventlog_dropped(f->eventlog), 0);
	assert_null(vbd_eventlog_get(f->eventlog, 0));
	assert_null(vbd_eventlog_get(f->eventlog, 1));
	assert_null(vbd_eventlog_next(f->eventlog, 0, &all));
}

EVENTLOG_TEST(test_eventlog__an_event_keeps_its_values)
{
	const struct vbd_event *event;
	const struct vbd_event ended = {
		.type = VBD_EVENT_CONNECTION_ENDED,
		.severity = VBD_SEVERITY_WARNING,
		.kind = VBD_KIND_CONNECTION,
		.object_id = 7,
		.name = "to-b",
		.words[VBD_EVENT_CODE] = "rejected",
	};
	uint64_t seq = vbd_eventlog_append(f->eventlog, &ended, "ended: %s", "x");

	assert_int_equal(seq, 1);
	event = vbd_eventlog_get(f->eventlog, 1);
	assert_non_null(event);
	assert_int_equal(event->seq, 1);
	assert_true(event->at_ns > 0);
	assert_int_equal(event->type, VBD_EVENT_CONNECTION_ENDED);
	assert_int_equal(event->severity, VBD_SEVERITY_WARNING);
	assert_int_equal(event->kind, VBD_KIND_CONNECTION);
	assert_int_equal(event->object_id, 7);
	assert_string_equal(event->name, "to-b");
	assert_string_equal(event->words[VBD_EVENT_CODE], "rejected");
	assert_null(event->words[VBD_EVENT_STATE]);
	assert_string_equal(event->detail, "ended: x");
}

EVENTLOG_TEST(test_eventlog__an_event_is_a_log_line_of_its_severity)
{
	(void)append(f, VBD_EVENT_DEVICE_FAILED, VBD_SEVERITY_ERROR, VBD_KIND_DEVICE, 2);
	assert_int_equal(f->logged_level, VBD_LOG_ERROR);
	assert_string_equal(f->logged_object, "device/2");
	assert_string_equal(f->logged_text, "device_failed: text");
	(void)append(f, VBD_EVENT_DAEMON_STARTED, VBD_SEVERITY_NOTICE, VBD_KIND_NONE, 0);
	assert_int_equal(f->logged_level, VBD_LOG_NOTICE);
	assert_string_equal(f->logged_object, "");
}

EVENTLOG_TEST(test_eventlog__a_full_ring_drops_the_oldest_and_counts_it)
{
	const struct vbd_event_filter all = {0};

	for (int i = 0; i < 10; i++)
		append_one(f);
	assert_int_equal(vbd_eventlog_first(f->eventlog), 7);
	assert_int_equal(vbd_eventlog_last(f->eventlog), 10);
	assert_int_equal(vbd_eventlog_dropped(f->eventlog), 6);
	assert_null(vbd_eventlog_get(f->eventlog, 6));
	assert_null(vbd_eventlog_get(f->eventlog, 11));
	for (uint64_t seq = 7; seq <= 10; seq++)
		assert_int_equal(vbd_eventlog_get(f->eventlog, seq)->seq, seq);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &all)->seq, 7);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 8, &all)->seq, 9);
	assert_null(vbd_eventlog_next(f->eventlog, 10, &all));
	assert_null(vbd_eventlog_next(f->eventlog, UINT64_MAX, &all));
}

EVENTLOG_TEST(test_eventlog__a_search_looks_at_a_few_and_keeps_its_place)
{
	const struct vbd_event_filter errors = {.min_severity = VBD_SEVERITY_ERROR};
	unsigned int looks = 2;
	uint64_t at = 0;

	for (int i = 0; i < 3; i++)
		append_one(f);
	(void)append(f, VBD_EVENT_DEVICE_FAILED, VBD_SEVERITY_ERROR, VBD_KIND_DEVICE, 2);
	assert_null(vbd_eventlog_look(f->eventlog, &at, &errors, &looks));
	assert_int_equal(looks, 0);
	assert_int_equal(at, 2);
	looks = 3;
	assert_int_equal(vbd_eventlog_look(f->eventlog, &at, &errors, &looks)->seq, 4);
	assert_int_equal(looks, 1);
	assert_int_equal(at, 3);
	at = 4;
	assert_null(vbd_eventlog_look(f->eventlog, &at, &errors, &looks));
	assert_int_equal(looks, 1);
	assert_int_equal(at, 4);
}

EVENTLOG_TEST(test_eventlog__a_filter_lets_through_what_it_names)
{
	const struct vbd_event_filter type = {
		.by_type = true, .types[VBD_EVENT_DAEMON_STARTED] = true};
	const struct vbd_event_filter kind = {.kind = VBD_KIND_BUFFER};
	const struct vbd_event_filter object = {.kind = VBD_KIND_BUFFER, .object_id = 5};
	const struct vbd_event_filter severe = {.min_severity = VBD_SEVERITY_WARNING};
	const struct vbd_event_filter types = {.by_type = true,
		.types[VBD_EVENT_BUFFER_LOST] = true,
		.types[VBD_EVENT_BUFFER_CREATED] = true};
	const struct vbd_event_filter name = {.kind = VBD_KIND_BUFFER, .name = "front"};
	const struct vbd_event_filter other = {.kind = VBD_KIND_BUFFER, .name = "back"};
	const struct vbd_event_filter code = {.code = "rejected"};

	(void)append(f, VBD_EVENT_CONNECTION_CM_EVENT, VBD_SEVERITY_DEBUG, VBD_KIND_CONNECTION, 5);
	(void)append(f, VBD_EVENT_BUFFER_CREATED, VBD_SEVERITY_INFO, VBD_KIND_BUFFER, 4);
	(void)append(f, VBD_EVENT_BUFFER_LOST, VBD_SEVERITY_WARNING, VBD_KIND_BUFFER, 5);
	(void)append(f, VBD_EVENT_DAEMON_STARTED, VBD_SEVERITY_ERROR, VBD_KIND_NONE, 0);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &type)->seq, 4);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &kind)->seq, 2);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 2, &kind)->seq, 3);
	assert_null(vbd_eventlog_next(f->eventlog, 3, &kind));
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &object)->seq, 3);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &severe)->seq, 3);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 3, &severe)->seq, 4);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &types)->seq, 2);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 2, &types)->seq, 3);
	assert_null(vbd_eventlog_next(f->eventlog, 3, &types));
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &name)->seq, 2);
	assert_null(vbd_eventlog_next(f->eventlog, 0, &other));
	assert_null(vbd_eventlog_next(f->eventlog, 0, &code));
	(void)vbd_eventlog_append(f->eventlog,
		&(const struct vbd_event){.words[VBD_EVENT_CODE] = "rejected"}, "text");
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &code)->seq, 5);
}

EVENTLOG_TEST(test_eventlog__texts_from_outside_are_cut_and_cleaned)
{
	const struct vbd_event *event;
	char longest[400];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	longest[0] = '\n';
	memcpy(longest + 158, "\xc3\xa4", 2); /* the cut falls into this character */
	(void)vbd_eventlog_append(f->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_CONNECTION_CM_EVENT}, "%s", longest);
	event = vbd_eventlog_get(f->eventlog, 1);
	assert_int_equal(strlen(event->detail), 159);
	assert_int_equal(event->detail[0], '?');
	assert_int_equal(event->detail[158], '?');
}

static void count_calls(struct vbd_watch *watch, bool gone)
{
	struct fixture *f = VBD_CONTAINER_OF(watch, struct fixture, watch);

	if (gone)
		f->gone_calls++;
	else
		f->calls++;
}

static void count_second(struct vbd_watch *watch, bool gone)
{
	(void)gone;
	VBD_CONTAINER_OF(watch, struct fixture, second)->second_calls++;
}

static void remove_self_and_third(struct vbd_watch *watch, bool gone)
{
	struct fixture *f = VBD_CONTAINER_OF(watch, struct fixture, watch);

	(void)gone;
	f->calls++;
	vbd_watch_remove(&f->watch);
	vbd_watch_remove(&f->third);
}

static void must_not_be_called(struct vbd_watch *watch, bool gone)
{
	(void)watch;
	(void)gone;
	fail();
}

EVENTLOG_TEST(test_eventlog__a_detail_that_is_ready_is_kept_and_cleaned)
{
	const struct vbd_event moved = {
		.type = VBD_EVENT_CONNECTION_QP_STATE_CHANGED,
		.severity = VBD_SEVERITY_DEBUG,
		.kind = VBD_KIND_CONNECTION,
		.object_id = 7,
		.detail = "INIT -> RTR: 100%s\n",
	};

	assert_int_equal(vbd_eventlog_add(f->eventlog, &moved), 1);
	assert_string_equal(vbd_eventlog_get(f->eventlog, 1)->detail, "INIT -> RTR: 100%s?");
	assert_int_equal(vbd_eventlog_get(f->eventlog, 1)->seq, 1);
}

EVENTLOG_TEST(test_eventlog__a_watch_is_called_after_the_event_is_there)
{
	f->watch.cb = count_calls;
	vbd_watch_add(vbd_eventlog_watches(f->eventlog), &f->watch);
	append_one(f);
	append_one(f);
	assert_int_equal(f->calls, 2);
	vbd_watch_remove(&f->watch);
	append_one(f);
	assert_int_equal(f->calls, 2);
}

EVENTLOG_TEST(test_eventlog__a_watch_may_remove_itself_and_others_while_it_is_called)
{
	f->watch.cb = remove_self_and_third;
	f->third.cb = must_not_be_called;
	f->second.cb = count_second;
	vbd_watch_add(vbd_eventlog_watches(f->eventlog), &f->watch);
	vbd_watch_add(vbd_eventlog_watches(f->eventlog), &f->third);
	vbd_watch_add(vbd_eventlog_watches(f->eventlog), &f->second);
	append_one(f);
	append_one(f);
	assert_int_equal(f->calls, 1);
	assert_int_equal(f->second_calls, 2);
	vbd_watch_remove(&f->second);
}

EVENTLOG_TEST(test_eventlog__watches_are_told_when_the_log_goes)
{
	f->watch.cb = count_calls;
	vbd_watch_add(vbd_eventlog_watches(f->eventlog), &f->watch);
	vbd_eventlog_destroy(f->eventlog);
	f->eventlog = NULL;
	assert_int_equal(f->gone_calls, 1);
}

EVENTLOG_TEST(test_eventlog__a_ring_beyond_all_memory_is_refused)
{
	struct vbd_eventlog *none = NULL;

	assert_int_equal(vbd_eventlog_create(UINT64_MAX / 2, &none, &f->err), VBD_E_NO_MEMORY);
	assert_null(none);
}

EVENTLOG_TEST(test_eventlog__types_and_severities_are_those_of_the_contract)
{
	struct openapi_enum types;
	struct openapi_enum names;

	openapi_read_enum("EventType", &types);
	assert_int_equal(types.count, VBD_EVENT_TYPE_COUNT);
	for (unsigned int i = 0; i < VBD_EVENT_TYPE_COUNT; i++)
		assert_string_equal(types.values[i], vbd_event_type_name(i));

	openapi_read_enum("Severity", &names);
	assert_int_equal(names.count, VBD_SEVERITY_COUNT);
	for (unsigned int i = 0; i < VBD_SEVERITY_COUNT; i++)
		assert_string_equal(names.values[i], vbd_severity_name(i));
}

EVENTLOG_TEST(test_eventlog__names_that_are_none_are_refused)
{
	enum vbd_object_kind kind;

	assert_false(vbd_object_kind_parse("", &kind));
	assert_null(vbd_event_type_name(VBD_EVENT_TYPE_COUNT));
	assert_null(vbd_severity_name(VBD_SEVERITY_COUNT));
	assert_null(vbd_object_kind_name(VBD_KIND_COUNT));
	assert_null(vbd_object_kind_name(VBD_KIND_NONE));
}

EVENTLOG_TEST(test_eventlog__only_the_role_control_sees_the_audit)
{
	const struct vbd_event audit = {.type = VBD_EVENT_AUDIT};
	struct vbd_caller caller = {.role = VBD_ROLE_READ};

	assert_false(vbd_event_is_for(&audit, &caller));
	caller.role = VBD_ROLE_OPERATE;
	assert_false(vbd_event_is_for(&audit, &caller));
	caller.role = VBD_ROLE_CONTROL;
	assert_true(vbd_event_is_for(&audit, &caller));
	assert_true(vbd_event_is_for(&audit, NULL));
}

EVENTLOG_TEST(test_eventlog__an_object_is_written_as_kind_and_id)
{
	char text[VBD_OBJECT_TEXT_BYTES];
	enum vbd_object_kind kind = VBD_KIND_NONE;

	assert_string_equal(vbd_object_text(VBD_KIND_CONNECTION, UINT64_MAX, text),
		"connection/18446744073709551615");
	assert_null(vbd_object_text(VBD_KIND_NONE, 0, text));
	for (unsigned int i = VBD_KIND_NONE + 1; i < VBD_KIND_COUNT; i++) {
		assert_true(vbd_object_kind_parse(vbd_object_kind_name(i), &kind));
		assert_int_equal(kind, i);
	}
}

static void restore(struct fixture *f, struct vbd_event_run *run, uint64_t seq)
{
	const struct vbd_event event = {.seq = seq, .at_ns = 1, .type = VBD_EVENT_AUDIT};

	vbd_eventlog_restore(f->eventlog, run, &event);
}

EVENTLOG_TEST(test_eventlog__events_of_earlier_runs_come_before_those_of_this_one)
{
	const struct vbd_event_filter all = {0};
	struct vbd_event_run *run = vbd_eventlog_add_run(f->eventlog, "0123456789abcdef");

	assert_non_null(run);
	restore(f, run, 5);
	restore(f, run, 6);
	vbd_eventlog_skip(f->eventlog, 100);
	append_one(f);
	assert_int_equal(vbd_eventlog_last(f->eventlog), 101);
	assert_int_equal(vbd_eventlog_first(f->eventlog), 5);
	assert_int_equal(vbd_eventlog_appended(f->eventlog), 1);
	assert_int_equal(vbd_eventlog_held(f->eventlog), 3);
	assert_ptr_equal(vbd_eventlog_get(f->eventlog, 6)->run, run);
	assert_null(vbd_eventlog_get(f->eventlog, 101)->run);
	assert_null(vbd_eventlog_get(f->eventlog, 4));
	assert_null(vbd_eventlog_get(f->eventlog, 7));
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &all)->seq, 5);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 5, &all)->seq, 6);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 6, &all)->seq, 101);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 50, &all)->seq, 101);
	assert_null(vbd_eventlog_next(f->eventlog, 101, &all));
	assert_ptr_equal(vbd_eventlog_find_run(f->eventlog, "0123456789abcdef"), run);
	assert_null(vbd_eventlog_find_run(f->eventlog, "0123456789abcdee"));
}

EVENTLOG_TEST(test_eventlog__a_run_may_leave_out_numbers)
{
	const struct vbd_event_filter all = {0};

	append_one(f);
	append_one(f);
	vbd_eventlog_skip(f->eventlog, 100);
	assert_null(vbd_eventlog_next(f->eventlog, 2, &all));
	assert_null(vbd_eventlog_get(f->eventlog, 100));
	append_one(f);
	append_one(f);
	vbd_eventlog_skip(f->eventlog, 50);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 0, &all)->seq, 1);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 1, &all)->seq, 2);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 2, &all)->seq, 101);
	assert_int_equal(vbd_eventlog_next(f->eventlog, 101, &all)->seq, 102);
	assert_null(vbd_eventlog_get(f->eventlog, 50));
	assert_int_equal(vbd_eventlog_get(f->eventlog, 2)->seq, 2);
	assert_int_equal(vbd_eventlog_appended(f->eventlog), 4);
}

EVENTLOG_TEST(test_eventlog__events_of_earlier_runs_make_room)
{
	struct vbd_event_run *run = vbd_eventlog_add_run(f->eventlog, "0123456789abcdef");

	assert_non_null(run);
	for (uint64_t seq = 5; seq <= 7; seq++)
		restore(f, run, seq);
	for (int i = 0; i < 3; i++)
		append_one(f);
	assert_int_equal(vbd_eventlog_first(f->eventlog), 7);
	assert_int_equal(vbd_eventlog_dropped(f->eventlog), 2);
	assert_non_null(vbd_eventlog_find_run(f->eventlog, "0123456789abcdef"));
	for (int i = 0; i < 6; i++)
		append_one(f);
	assert_int_equal(vbd_eventlog_first(f->eventlog), 13);
	assert_int_equal(vbd_eventlog_last(f->eventlog), 16);
	assert_int_equal(vbd_eventlog_get(f->eventlog, 13)->seq, 13);
	assert_null(vbd_eventlog_find_run(f->eventlog, "0123456789abcdef"));
}
