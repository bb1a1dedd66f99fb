/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/device.h"

#include "tests/unit/rig.h"

#include <arpa/inet.h>

static void add_gid(struct rig *rig, uint32_t port_num, uint32_t type, const char *text)
{
	struct fake_device *device = rig->device;
	struct ibv_gid_entry *entry = &device->gids[device->gid_count];

	assert_true(device->gid_count < VBD_ARRAY_LEN(device->gids));
	*entry = (struct ibv_gid_entry){
		.gid_index = (uint32_t)device->gid_count, .port_num = port_num, .gid_type = type};
	assert_int_equal(inet_pton(AF_INET6, text, entry->gid.raw), 1);
	device->gid_count++;
}

/* The index that is chosen; -1: none, without an error. */
static int chosen(struct rig *rig, const struct vbd_gid_criteria *criteria)
{
	struct vbd_gid gid = {0};
	bool found = false;

	assert_int_equal(vbd_gid_choose(vbd_fabric_device(rig->fabric, "fake0"), criteria, &gid,
				 &found, &rig->err),
		VBD_OK);
	return found ? (int)gid.gid_index : -1;
}

static int chosen_for(struct rig *rig, const char *text)
{
	struct sockaddr_storage addr = {0};
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&addr;
	struct sockaddr_in *four = (struct sockaddr_in *)&addr;

	if (strchr(text, ':')) {
		addr.ss_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
	} else if (*text) {
		addr.ss_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, text, &four->sin_addr), 1);
	}
	return chosen(
		rig, &(struct vbd_gid_criteria){.port_num = 1, .gid_index = -1, .addr = &addr});
}

static void fill_table(struct rig *rig)
{
	rig->device->gid_count = 0;
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "fe80::1");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V1, "::ffff:10.0.0.1");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.2");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "fd00::1:1");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "fd00::1:2");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V1, "::ffff:10.0.0.3");
}

RIG_TEST(test_gid_choice__the_gid_of_an_address_is_preferred)
{
	static const struct {
		const char *addr;
		int index;
	} rows[] = {
		{"10.0.0.1", 2},
		{"10.0.0.2", 3},
		{"10.0.0.3", 6}, /* its own one of v1 comes before another one of v2 */
		{"fd00::1:1", 4},
		{"fd00::1:2", 5},
		{"fe80::1", 0},
		/* no preference: */
		{"10.0.0.77", 2},
		{"fd00::77", 2},
		{"0.0.0.0", 2},
		{"::", 2},
		{"", 2},
	};

	fill_table(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		int index = chosen_for(rig, rows[i].addr);

		if (index != rows[i].index)
			fail_msg("%s leads to %d", rows[i].addr, index);
	}
	assert_int_equal(
		chosen(rig, &(struct vbd_gid_criteria){.port_num = 1, .gid_index = -1}), 2);
}

/* RFC 3927 2.6. */
RIG_TEST(test_gid_choice__an_ipv4_link_local_address_comes_after_those_that_others_reach)
{
	rig->device->gid_count = 0;
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "fe80::1");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:169.254.7.1");
	assert_int_equal(chosen_for(rig, ""), 0);
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "fd00::1:1");
	assert_int_equal(chosen_for(rig, ""), 2);
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:169.253.255.255");
	assert_int_equal(chosen_for(rig, ""), 3);
	assert_int_equal(chosen_for(rig, "169.254.7.1"), 1);
}

RIG_TEST(test_gid_choice__an_index_is_that_of_the_port)
{
	fill_table(rig);
	for (int i = 0; i < 7; i++)
		assert_int_equal(
			chosen(rig, &(struct vbd_gid_criteria){.port_num = 1, .gid_index = i}), i);
}

RIG_TEST(test_gid_choice__infiniband_has_its_first_one_or_none)
{
	const struct vbd_gid_criteria criteria = {
		.port_num = 2, .infiniband = true, .gid_index = -1};

	fill_table(rig);
	assert_int_equal(chosen(rig, &criteria), -1);
	rig->device->gid_count--;
	add_gid(rig, 2, IBV_GID_TYPE_IB, "fe80::1");
	add_gid(rig, 2, IBV_GID_TYPE_IB, "fd00::1");
	assert_int_equal(chosen(rig, &criteria), 6);
}

RIG_TEST(test_gid_choice__what_is_missing_is_said)
{
	static const struct {
		struct vbd_gid_criteria criteria;
		const char *param, *text;
	} rows[] = {
		{{.port_num = 2, .gid_index = 0}, "gid_index",
			"port 2 of device fake0 has no GID at index 0"},
		{{.port_num = 1, .gid_index = 7}, "gid_index",
			"port 1 of device fake0 has no GID at index 7"},
		{{.port_num = 2, .infiniband = true, .gid_index = 1}, "gid_index",
			"port 2 of device fake0 has no GID at index 1"},
		{{.port_num = 2, .gid_index = -1}, "port_num", "port 2 of device fake0 has no GID"},
	};
	struct vbd_gid gid;
	bool found;

	fill_table(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_error err = {0};

		assert_int_equal(vbd_gid_choose(vbd_fabric_device(rig->fabric, "fake0"),
					 &rows[i].criteria, &gid, &found, &err),
			VBD_E_BAD_VALUE);
		assert_string_equal(err.param, rows[i].param);
		assert_string_equal(err.text, rows[i].text);
	}
}

/* Cut to 8 bits, 258 would be 2. */
RIG_TEST(test_gid_choice__an_index_that_no_path_can_name_is_not_chosen)
{
	const struct sockaddr_in far = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000077)};
	struct sockaddr_storage addr = {0};
	const struct vbd_gid_criteria criteria = {.port_num = 1, .gid_index = -1, .addr = &addr};
	struct vbd_error err = {0};
	struct vbd_gid gid;
	bool found;

	memcpy(&addr, &far, sizeof(far));
	rig->device->gid_count = 0;
	while (rig->device->gid_count < 258)
		add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "fe80::1");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.119");
	assert_int_equal(chosen_for(rig, ""), 0);
	assert_int_equal(vbd_gid_choose(vbd_fabric_device(rig->fabric, "fake0"), &criteria, &gid,
				 &found, &err),
		VBD_E_ADDRESS_NOT_AVAILABLE);
	assert_string_equal(err.text,
		"the GID of the address has index 258, and a queue pair can use those up to 255 "
		"only");
	add_gid(rig, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1");
	rig->device->gids[7] = rig->device->gids[258];
	rig->device->gids[7].gid_index = 7;
	assert_int_equal(chosen_for(rig, "10.0.0.119"), 7);
}
