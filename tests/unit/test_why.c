/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/why.h"

#include "rdma/names/names.h"
#include "rdma/names/reason.h"
#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <strings.h>

TEST(test_why__each_row_says_something_in_the_same_form)
{
	struct vbd_why why;

	for (size_t i = 0; vbd_why_at(i, &why); i++) {
		assert_true(why.name[0] != '\0');
		assert_true(why.detail[0] != '\0');
		assert_true(why.detail[strlen(why.detail) - 1] != '.');
		/* The detail of a code that a client's request causes says it all. */
		assert_true(why.causes[0] != '\0' || why.kind == VBD_WHY_PROBLEM);
		assert_true(!why.causes[0] || why.causes[strlen(why.causes) - 1] != '.');
		assert_int_equal(why.hint[strlen(why.hint) - 1], '.');
		if (why.kind == VBD_WHY_PROBLEM)
			continue;
		assert_null(strstr(why.detail, "does not know"));
		assert_null(strstr(why.detail, "unknown"));
	}
}

TEST(test_why__no_number_and_no_name_stands_twice_in_a_kind)
{
	struct vbd_why a;
	struct vbd_why b;

	for (size_t i = 0; vbd_why_at(i, &a); i++) {
		for (size_t k = i + 1; vbd_why_at(k, &b); k++) {
			if (a.kind != b.kind)
				continue;
			assert_int_not_equal(a.number, b.number);
			assert_true(strcasecmp(b.name, a.name) != 0);
		}
	}
}

/* The type of a problem is its path in the glossary, which is not to be a dead end. */
TEST(test_why__every_problem_code_of_the_contract_is_explained)
{
	struct openapi_enum codes;
	size_t explained = 0;
	struct vbd_why why;

	openapi_read_enum("ProblemCode", &codes);
	for (size_t i = 0; vbd_why_at(i, &why); i++) {
		if (why.kind != VBD_WHY_PROBLEM)
			continue;
		assert_true(openapi_enum_has(&codes, why.name));
		explained++;
	}
	assert_int_equal(explained, codes.count);
}

/* Every name in the tables of names must be explained. */
TEST(test_why__whatever_has_a_name_has_a_row)
{
	struct vbd_why why;

	for (int type = 0; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT; type++)
		assert_true(vbd_why_find(VBD_WHY_CM_EVENT, type, &why));
	for (int status = 0; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++)
		assert_true(vbd_why_find(VBD_WHY_WC_STATUS, status, &why));
	for (int type = 0; type < VBD_ASYNC_EVENT_TYPES; type++)
		assert_int_equal(vbd_why_find(VBD_WHY_ASYNC_EVENT, type, &why),
			strcmp(vbd_async_event_name(type), "unknown") != 0);
	for (int qp_state = IBV_QPS_RESET; qp_state <= IBV_QPS_ERR; qp_state++)
		assert_true(vbd_why_find(VBD_WHY_QP_STATE, qp_state, &why));
	for (int reason = VBD_REASON_NONE + 1; reason < VBD_REASON_COUNT; reason++)
		assert_true(vbd_why_find(
			VBD_WHY_PROBLEM, (int)vbd_reason_status((enum vbd_reason)reason), &why));
	for (int status = 0; status < 64; status++)
		assert_int_equal(vbd_why_find_reject(status, &why),
			strcmp(vbd_cm_reject_name(status), "unknown reason") != 0);
}

TEST(test_why__a_reject_is_explained_by_its_transport)
{
	struct vbd_why why;

	assert_true(vbd_why_find_reject(28, &why));
	assert_string_equal(why.name, "IB_CM_REJ_CONSUMER_DEFINED");
	assert_true(vbd_why_find_reject(-ECONNREFUSED, &why));
	assert_string_equal(why.name, "ECONNREFUSED");
	assert_int_equal(why.kind, VBD_WHY_IWARP_REJECT);
	assert_false(vbd_why_find_reject(999, &why));
}

TEST(test_why__an_error_is_explained_by_what_it_came_from)
{
	struct vbd_error error = {.status = VBD_E_REJECTED,
		.source = VBD_SOURCE_CM_EVENT,
		.kind = RDMA_CM_EVENT_REJECTED,
		.raw = 10};
	struct vbd_why why;

	assert_true(vbd_why_find_error(&error, &why));
	assert_string_equal(why.name, "IB_CM_REJ_STALE_CONN");
	assert_string_equal(vbd_why_hint(&error), why.hint);
	error.raw = 999; /* an unknown reason: the event itself is explained */
	assert_true(vbd_why_find_error(&error, &why));
	assert_string_equal(why.name, "RDMA_CM_EVENT_REJECTED");
	error = (struct vbd_error){.source = VBD_SOURCE_WC, .kind = IBV_WC_RETRY_EXC_ERR};
	assert_true(vbd_why_find_error(&error, &why));
	assert_string_equal(why.name, "IBV_WC_RETRY_EXC_ERR");
	error = (struct vbd_error){.source = VBD_SOURCE_ASYNC, .kind = IBV_EVENT_QP_FATAL};
	assert_true(vbd_why_find_error(&error, &why));
	assert_int_equal(why.kind, VBD_WHY_ASYNC_EVENT);
	error = (struct vbd_error){.status = VBD_E_MEMLOCK, .source = VBD_SOURCE_ERRNO};
	assert_false(vbd_why_find_error(&error, &why));
	assert_string_equal(vbd_why_hint(&error), vbd_status_hint(VBD_E_MEMLOCK));
}
