/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/names.h"

#include "rdma/device/device.h"
#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <limits.h>

#define NUMBERS 64

/* Numbers that are in no table. */
static const int strange[] = {INT_MIN, -1, 255, 1000, INT_MAX};

/*
 * Collects the names of all numbers below NUMBERS, and of unusual numbers. Each name is not NULL
 * and unique, but for the name of unknown numbers. Returns how many numbers are known.
 */
static unsigned int check_names(const char *(*name_of)(int), const char *unknown)
{
	const char *seen[NUMBERS];
	unsigned int known = 0;

	for (size_t i = 0; i < VBD_ARRAY_LEN(strange); i++)
		assert_string_equal(name_of(strange[i]), unknown);
	for (int number = 0; number < NUMBERS; number++) {
		const char *name = name_of(number);

		assert_non_null(name);
		assert_true(name[0] != '\0');
		if (strcmp(name, unknown) == 0)
			continue;
		for (unsigned int i = 0; i < known; i++)
			assert_string_not_equal(seen[i], name);
		seen[known++] = name;
	}
	return known;
}

static void check_texts(const char *(*text_of)(int))
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(strange); i++)
		assert_true(text_of(strange[i])[0] != '\0');
	for (int number = 0; number < NUMBERS; number++) {
		const char *text = text_of(number);

		assert_non_null(text);
		assert_true(text[0] >= 'A' && text[0] <= 'Z');
		assert_true(text[strlen(text) - 1] != '.');
	}
}

TEST(test_names__cm_events_are_named_as_the_library_does)
{
	assert_int_equal(check_names(vbd_cm_event_name, "RDMA_CM_EVENT_UNKNOWN"),
		RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);
	check_texts(vbd_cm_event_text);
	for (int type = 0; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT; type++)
		assert_string_equal(
			vbd_cm_event_name(type), rdma_event_str((enum rdma_cm_event_type)type));
}

TEST(test_names__reject_reasons_are_told_apart)
{
	assert_int_equal(check_names(vbd_cm_reject_name, "unknown reason"), 34);
	assert_non_null(strstr(vbd_cm_reject_name(8), "nobody listens"));
	assert_non_null(strstr(vbd_cm_reject_name(28), "refused"));
	assert_string_equal(vbd_cm_reject_name(-ECONNREFUSED), "connection refused");
	assert_string_equal(vbd_cm_reject_name(-ECONNRESET), "connection reset");
	assert_string_equal(vbd_cm_reject_name(-ETIMEDOUT), "timeout");
}

TEST(test_names__every_completion_status_has_name_text_and_class)
{
	assert_int_equal(
		check_names(vbd_wc_status_name, "IBV_WC_UNKNOWN"), IBV_WC_TM_RNDV_INCOMPLETE + 1);
	check_texts(vbd_wc_status_text);
	assert_int_equal(vbd_wc_status_class(IBV_WC_SUCCESS), VBD_OK);
	for (int status = 1; status < NUMBERS; status++)
		assert_int_not_equal(vbd_wc_status_class(status), VBD_OK);
	assert_int_equal(vbd_wc_status_class(-1), VBD_E_LOCAL_ERROR);
	assert_int_equal(vbd_wc_status_class(IBV_WC_REM_ACCESS_ERR), VBD_E_REMOTE_ACCESS);
	assert_int_equal(vbd_wc_status_class(IBV_WC_RETRY_EXC_ERR), VBD_E_RETRY_EXCEEDED);
	assert_int_equal(vbd_wc_status_class(IBV_WC_RNR_RETRY_EXC_ERR), VBD_E_RNR_EXCEEDED);
	assert_int_equal(vbd_wc_status_class(IBV_WC_REM_INV_REQ_ERR), VBD_E_REMOTE_INVALID);
	assert_int_equal(vbd_wc_status_class(IBV_WC_REM_OP_ERR), VBD_E_REMOTE_OPERATION);
	assert_int_equal(vbd_wc_status_class(IBV_WC_WR_FLUSH_ERR), VBD_E_QP_FATAL);
	assert_int_equal(vbd_wc_status_class(IBV_WC_LOC_LEN_ERR), VBD_E_LOCAL_ERROR);
}

TEST(test_names__qp_states_are_those_of_the_contract)
{
	struct openapi_enum contract;

	assert_int_equal(check_names(vbd_qp_state_name, "UNKNOWN"), IBV_QPS_ERR + 1);
	openapi_read_enum("QpState", &contract);
	for (int number = 0; number <= IBV_QPS_ERR + 1; number++)
		assert_true(openapi_enum_has(&contract, vbd_qp_state_name(number)));
	assert_int_equal(contract.count, IBV_QPS_ERR + 2);
}

TEST(test_names__async_events_are_all_named)
{
	assert_int_equal(check_names(vbd_async_event_name, "unknown"), IBV_EVENT_WQ_FATAL + 1);
	check_texts(vbd_async_event_text);
}

TEST(test_names__port_states_are_those_of_the_contract)
{
	struct openapi_enum contract;

	assert_int_equal(check_names(vbd_port_state_name, "unknown"), IBV_PORT_ACTIVE_DEFER + 1);
	assert_int_equal(check_names(vbd_phys_state_name, "unknown"), 8);
	/* The enum after the port's number is the port's state. */
	openapi_read_property_enum("Device", "port_num", &contract);
	for (int number = 0; number <= IBV_PORT_ACTIVE_DEFER + 1; number++)
		assert_true(openapi_enum_has(&contract, vbd_port_state_name(number)));
}

TEST(test_names__device_states_are_those_of_the_contract)
{
	struct openapi_enum contract;

	openapi_read_property_enum("Device", "state", &contract);
	for (unsigned int i = 0; i < VBD_DEVICE_STATE_COUNT; i++)
		assert_true(openapi_enum_has(
			&contract, vbd_device_state_name((enum vbd_device_state)i)));
	assert_int_equal(contract.count, VBD_DEVICE_STATE_COUNT);
}

TEST(test_names__an_mtu_survives_the_way_there_and_back)
{
	assert_int_equal(vbd_mtu_bytes(IBV_MTU_256), 256);
	assert_int_equal(vbd_mtu_bytes(IBV_MTU_4096), 4096);
	for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		assert_int_equal(vbd_mtu_of_bytes(vbd_mtu_bytes(mtu)), mtu);
	for (size_t i = 0; i < VBD_ARRAY_LEN(strange); i++)
		assert_int_equal(vbd_mtu_bytes(strange[i]), 0);
	assert_int_equal(vbd_mtu_bytes(0), 0);
	assert_int_equal(vbd_mtu_of_bytes(0), 0);
	assert_int_equal(vbd_mtu_of_bytes(1500), 0);
}

/* IBTA table 46: 0 is the longest time, the others grow by one or two steps for each doubling. */
TEST(test_names__rnr_timers_are_those_of_the_standard)
{
	assert_int_equal(vbd_min_rnr_timer_ns(0), 655360000);
	assert_int_equal(vbd_min_rnr_timer_ns(1), 10000);
	assert_int_equal(vbd_min_rnr_timer_ns(4), 40000);
	assert_int_equal(vbd_min_rnr_timer_ns(12), 640000);
	assert_int_equal(vbd_min_rnr_timer_ns(14), 1280000);
	assert_int_equal(vbd_min_rnr_timer_ns(31), 491520000);
	for (unsigned int code = 2; code < 32; code++)
		assert_true(vbd_min_rnr_timer_ns(code) > vbd_min_rnr_timer_ns(code - 1));
	for (unsigned int code = 6; code < 32; code++)
		assert_int_equal(vbd_min_rnr_timer_ns(code), 2 * vbd_min_rnr_timer_ns(code - 2));
	assert_true(vbd_min_rnr_timer_ns(0) > vbd_min_rnr_timer_ns(31));
	assert_int_equal(vbd_min_rnr_timer_ns(32), vbd_min_rnr_timer_ns(0));
}

TEST(test_names__ack_timeouts_double)
{
	assert_int_equal(vbd_ack_timeout_ns(0), 0);
	assert_int_equal(vbd_ack_timeout_ns(1), 8192);
	assert_int_equal(vbd_ack_timeout_ns(14), 67108864);
	assert_int_equal(vbd_ack_timeout_ns(19), 2147483648);
	assert_int_equal(vbd_ack_timeout_ns(31), 8796093022208);
}
