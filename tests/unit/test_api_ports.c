/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of ports in /metrics, and the durations of requests. */
#include "api/http/server.h"

#include "api/observe/metrics_parts.h"
#include "daemon/observe/kernel.h"
#include "tests/unit/unit.h"

/* The page of a snapshot with these counters, which come by set, name, device and port; the caller
 * frees it. */
static char *page_of(struct vbd_kernel_counter *counters, size_t count)
{
	const struct vbd_kernel_view view = {.counters = counters, .counter_count = count};
	struct vbd_metrics_text out = {0};
	size_t len_bytes;
	char *text;
	char *copy;

	vbd_metrics_put_ports(&out, &view);
	text = vbd_encode_take(&out.text, &len_bytes);
	assert_non_null(text);
	copy = calloc(1, len_bytes + 1);
	assert_non_null(copy);
	memcpy(copy, text, len_bytes);
	free(text);
	return copy;
}

static void assert_has(const char *page, const char *line)
{
	if (!strstr(page, line))
		fail_msg("the page lacks %s:\n%s", line, page);
}

TEST(test_ports__data_is_in_bytes_and_errors_have_names_of_their_own)
{
	struct vbd_kernel_counter counters[] = {
		{"mlx5_0", 1, VBD_COUNTER_SET_PORT, "port_rcv_data", 1000},
		{"mlx5_1", 2, VBD_COUNTER_SET_PORT, "port_rcv_data", 7},
		{"mlx5_0", 1, VBD_COUNTER_SET_PORT, "port_rcv_packets", 11},
		{"mlx5_0", 1, VBD_COUNTER_SET_PORT, "symbol_error", 3},
	};
	char *page = page_of(counters, VBD_ARRAY_LEN(counters));

	assert_has(page,
		"# TYPE verbsd_port_data_received_bytes_total counter\n"
		"verbsd_port_data_received_bytes_total{device=\"mlx5_0\",port=\"1\"} 4000\n"
		"verbsd_port_data_received_bytes_total{device=\"mlx5_1\",port=\"2\"} 28\n");
	assert_has(page, "verbsd_port_packets_received_total{device=\"mlx5_0\",port=\"1\"} 11\n");
	assert_has(page, "verbsd_port_symbol_error_total{device=\"mlx5_0\",port=\"1\"} 3\n");
	free(page);
}

TEST(test_ports__each_file_of_infiniband_has_its_metric)
{
	static const struct {
		const char *file, *metric;
		int value; /* of 1000 */
	} files[] = {
		{"VL15_dropped", "verbsd_port_vl15_dropped_total", 1000},
		{"excessive_buffer_overrun_errors",
			"verbsd_port_excessive_buffer_overrun_errors_total", 1000},
		{"link_downed", "verbsd_port_link_downed_total", 1000},
		{"link_error_recovery", "verbsd_port_link_error_recovery_total", 1000},
		{"local_link_integrity_errors", "verbsd_port_local_link_integrity_errors_total",
			1000},
		{"multicast_rcv_packets", "verbsd_port_multicast_packets_received_total", 1000},
		{"multicast_xmit_packets", "verbsd_port_multicast_packets_transmitted_total", 1000},
		{"port_rcv_constraint_errors", "verbsd_port_constraint_errors_received_total",
			1000},
		{"port_rcv_data", "verbsd_port_data_received_bytes_total", 4000},
		{"port_rcv_errors", "verbsd_port_errors_received_total", 1000},
		{"port_rcv_packets", "verbsd_port_packets_received_total", 1000},
		{"port_rcv_remote_physical_errors",
			"verbsd_port_receive_remote_physical_errors_total", 1000},
		{"port_rcv_switch_relay_errors", "verbsd_port_receive_switch_relay_errors_total",
			1000},
		{"port_xmit_constraint_errors", "verbsd_port_constraint_errors_transmitted_total",
			1000},
		{"port_xmit_data", "verbsd_port_data_transmitted_bytes_total", 4000},
		{"port_xmit_discards", "verbsd_port_discards_transmitted_total", 1000},
		{"port_xmit_packets", "verbsd_port_packets_transmitted_total", 1000},
		{"port_xmit_wait", "verbsd_port_transmit_wait_ticks_total", 1000},
		{"symbol_error", "verbsd_port_symbol_error_total", 1000},
		{"unicast_rcv_packets", "verbsd_port_unicast_packets_received_total", 1000},
		{"unicast_xmit_packets", "verbsd_port_unicast_packets_transmitted_total", 1000},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(files); i++) {
		struct vbd_kernel_counter counter = {"x0", 1, VBD_COUNTER_SET_PORT, "", 1000};
		char wanted[200];
		char *page;

		(void)snprintf(counter.name, sizeof(counter.name), "%s", files[i].file);
		page = page_of(&counter, 1);
		(void)snprintf(wanted, sizeof(wanted),
			"# TYPE %s counter\n%s{device=\"x0\",port=\"1\"} %d\n", files[i].metric,
			files[i].metric, files[i].value);
		assert_has(page, wanted);
		free(page);
	}
}

TEST(test_ports__what_only_the_driver_knows_is_untyped)
{
	struct vbd_kernel_counter counters[] = {
		{"x0", 1, VBD_COUNTER_SET_PORT, "novel", 5},
		{"x0", 1, VBD_COUNTER_SET_PORT, "symbol_error", 3},
		{"x0", 1, VBD_COUNTER_SET_HW, "sent_pkts", 9},
		{"x0", 1, VBD_COUNTER_SET_HW, "symbol_error", 2},
		{"x0", 1, VBD_COUNTER_SET_CM_TX_MSGS, "req", 4},
	};
	char *page = page_of(counters, VBD_ARRAY_LEN(counters));

	assert_has(page,
		"# TYPE verbsd_port_other_counters untyped\n"
		"verbsd_port_other_counters{device=\"x0\",port=\"1\",counter=\"novel\"} 5\n");
	assert_has(page,
		"# TYPE verbsd_port_hw_counters untyped\n"
		"verbsd_port_hw_counters{device=\"x0\",port=\"1\",counter=\"sent_pkts\"} 9\n"
		"verbsd_port_hw_counters{device=\"x0\",port=\"1\",counter=\"symbol_error\"} 2\n");
	assert_has(page, "verbsd_kernel_cm_tx_msgs_total{device=\"x0\",port=\"1\",message=\"req\"} "
			 "4\n");
	assert_has(page, "verbsd_port_symbol_error_total{device=\"x0\",port=\"1\"} 3\n");
	free(page);
}

TEST(test_durations__a_pair_of_operation_and_status_has_its_own_times)
{
	struct vbd_durations durations = {0};
	const struct vbd_duration *first, *last;
	size_t count = 1;

	for (unsigned int i = 0; i < 200; i++)
		vbd_durations_add(&durations, "list_buffers", 200 + i % 100, 1000);
	vbd_durations_add(&durations, "list_buffers", 200, 3000);
	vbd_durations_add(&durations, NULL, 404, 5000);
	first = durations.first;
	assert_string_equal(first->operation, "list_buffers");
	assert_int_equal(first->status, 200);
	assert_int_equal(vbd_counter_get(&first->times.count), 3);
	assert_int_equal(vbd_counter_get(&first->times.sum), 5000);
	for (last = first; last->next; last = last->next)
		count++;
	assert_int_equal(count, 101);
	assert_string_equal(last->operation, "none");
	assert_int_equal(vbd_counter_get(&durations.all.count), 202);
	vbd_durations_fini(&durations);
	assert_null(durations.first);
}
