/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/device.h"

#include "base/clock.h"
#include "rdma/device/caps.h"
#include "rdma/device/mem.h"
#include "rdma/device/pd.h"
#include "rdma/device/port_counters.h"
#include "tests/unit/rig.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct vbd_device *device_of(struct rig *rig)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");

	assert_non_null(device);
	return device;
}

/* Restarts the rig, which opens the fake device with the test's changes. */
static struct vbd_device *opened_again(struct rig *rig)
{
	rig_stop(rig);
	assert_true(rig_start(rig, 1));
	assert_false(vbd_list_empty(&rig->fabric->devices));
	return VBD_CONTAINER_OF(rig->fabric->devices.next, struct vbd_device, link);
}

RIG_TEST(test_device__tells_what_the_device_said)
{
	const struct vbd_device *device;

	rig->device->attr.node_guid = htobe64(0x0102030405060708);
	rig->device->attr.sys_image_guid = htobe64(0x1112131415161718);
	rig->device->attr.vendor_id = 0x2c9;
	memset(rig->device->attr.fw_ver, 'f', sizeof(rig->device->attr.fw_ver));
	device = opened_again(rig);
	assert_int_equal(device->state, VBD_DEVICE_PRESENT);
	assert_string_equal(device->name, "fake0");
	assert_string_equal(device->uverbs_name, "uverbs0");
	assert_int_equal(device->attr.node_guid, 0x0102030405060708);
	assert_int_equal(device->attr.sys_image_guid, 0x1112131415161718);
	assert_int_equal(device->attr.vendor_id, 0x2c9);
	assert_int_equal(strlen(device->attr.fw_ver), 63);
	assert_int_equal(device->attr.max_qp, 1000);
	assert_int_equal(device->attr.max_cqe, 40000);
	assert_int_equal(device->attr.phys_port_cnt, 1);
	assert_int_not_equal(device->added_ns, 0);
	assert_int_equal(device->removed_ns, 0);
}

RIG_TEST(test_device__its_transport_follows_driver_and_link)
{
	static const struct {
		int transport;
		uint8_t link_layer;
		const char *name;
	} rows[] = {
		{IBV_TRANSPORT_IB, IBV_LINK_LAYER_ETHERNET, "roce"},
		{IBV_TRANSPORT_IB, IBV_LINK_LAYER_INFINIBAND, "infiniband"},
		{IBV_TRANSPORT_IWARP, IBV_LINK_LAYER_ETHERNET, "iwarp"},
		{IBV_TRANSPORT_USNIC, IBV_LINK_LAYER_ETHERNET, "unknown"},
		{IBV_TRANSPORT_UNKNOWN, IBV_LINK_LAYER_UNSPECIFIED, "unknown"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		rig->device->ibv.transport_type = (enum ibv_transport_type)rows[i].transport;
		rig->device->port.link_layer = rows[i].link_layer;
		assert_string_equal(opened_again(rig)->transport, rows[i].name);
	}
}

/* Else libsiw makes no more than 55 queue pairs on a context. */
RIG_TEST(test_device__soft_iwarp_keeps_a_queue_over_the_offset_that_its_library_refuses)
{
	struct vbd_device *device;

	rig->device->attr.vendor_id = VBD_VENDOR_SIW;
	device = opened_again(rig);
	assert_int_equal(fake_live().cqs, 1);
	assert_int_equal(device->siw_guard->cqe, 2048);
	assert_int_equal(fake_count("ibv_destroy_cq"), 1);
	fake_fail_next("ibv_create_cq", ENOMEM);
	device = opened_again(rig);
	assert_int_equal(device->state, VBD_DEVICE_PRESENT);
	assert_null(device->siw_guard);
	assert_int_equal(fake_live().cqs, 0);
}

RIG_TEST(test_device__a_device_that_can_not_be_opened_says_why)
{
	static const char *const calls[] = {
		"ibv_open_device", "ibv_query_device_ex", "ibv_query_port", "ibv_alloc_pd"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		const struct vbd_device *device;
		struct vbd_error err = {0};

		fake_fail_next(calls[i], EACCES);
		device = opened_again(rig);
		assert_int_equal(device->state, VBD_DEVICE_FAILED);
		assert_int_equal(device->error.status, VBD_E_PERMISSION_DENIED);
		assert_string_equal(device->error.call, calls[i]);
		assert_null(device->context);
		rig_finish_calls(rig);
		assert_int_equal(fake_live().contexts, 0);
		assert_int_equal(vbd_device_async_fd(device), -1);
		assert_int_equal(vbd_device_usable(device, &err), VBD_E_PERMISSION_DENIED);
		assert_non_null(strstr(err.text, "; verbsd tries again by itself"));
		assert_null(vbd_fabric_default_device(rig->fabric));
		assert_null(vbd_fabric_device(rig->fabric, "fake0"));
	}
}

RIG_TEST(test_device__its_ports_say_what_they_said_last)
{
	struct vbd_device *device = device_of(rig);
	struct vbd_error err = {0};
	struct vbd_port port;

	assert_int_equal(vbd_device_port(device, 1, &port, &err), VBD_OK);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_string_equal(port.link_layer, "ethernet");
	assert_int_equal(port.active_mtu_bytes, 1024);
	assert_int_equal(port.max_mtu_bytes, 4096);
	assert_true(vbd_device_port_active(device));
	rig->device->port.state = IBV_PORT_DOWN;
	rig->device->port.link_layer = 9;
	assert_true(vbd_device_port_active(device));
	rig_ask_ports(rig);
	assert_int_equal(vbd_device_port(device, 1, &port, &err), VBD_OK);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_string_equal(port.link_layer, "unspecified");
	assert_false(vbd_device_port_active(device));
	assert_true(vbd_device_ports_down(device));
	assert_int_equal(vbd_device_port(device, 0, &port, NULL), VBD_E_OUT_OF_RANGE);
	assert_int_equal(vbd_device_port(device, 2, &port, &err), VBD_E_OUT_OF_RANGE);
	fake_fail_next("ibv_query_port", EIO);
	rig_ask_ports(rig);
	assert_false(vbd_device_port_active(device));
	/* A port that does not answer may be active. */
	assert_false(vbd_device_ports_down(device));
	err = (struct vbd_error){0};
	assert_int_equal(vbd_device_port(device, 1, &port, &err), VBD_E_VERBS_ERROR);
	assert_string_equal(err.call, "ibv_query_port");
	assert_int_equal(vbd_device_port(device, 1, &port, NULL), VBD_E_VERBS_ERROR);
}

static void port_event(struct rig *rig, enum ibv_event_type type)
{
	fake_device_async(rig->device, type, 1);
	rig_settle(rig);
}

RIG_TEST(test_device__an_event_tells_the_state_of_a_port_that_does_not_answer_yet)
{
	struct vbd_device *device = device_of(rig);
	unsigned int before = fake_count("ibv_query_port");
	struct vbd_port port;

	fake_block("ibv_query_port");
	port_event(rig, IBV_EVENT_PORT_ERR);
	assert_int_equal(fake_blocked(), 1);
	assert_true(vbd_device_ports_down(device));
	port_event(rig, IBV_EVENT_PORT_ACTIVE);
	assert_true(vbd_device_port_active(device));
	port_event(rig, IBV_EVENT_LID_CHANGE);
	assert_int_equal(fake_blocked(), 1);
	rig->device->port.lid = 5;
	fake_unblock();
	rig_settle(rig);
	/* Once for the first event, and once for all that came while it did not answer. */
	assert_int_equal(fake_count("ibv_query_port"), before + 2);
	assert_int_equal(vbd_device_port(device, 1, &port, NULL), VBD_OK);
	assert_int_equal(port.lid, 5);
}

RIG_TEST(test_device__a_device_goes_when_its_ports_have_answered)
{
	struct vbd_device *device = device_of(rig);

	fake_block("ibv_query_port");
	port_event(rig, IBV_EVENT_PORT_ERR);
	port_event(rig, IBV_EVENT_PORT_ACTIVE);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_int_equal(device->state, VBD_DEVICE_REMOVING);
	fake_unblock();
	rig_finish_calls(rig);
	assert_int_equal(device->state, VBD_DEVICE_REMOVED);
}

RIG_TEST(test_device__ports_are_asked_again_when_the_answer_is_old_or_had_no_memory)
{
	struct vbd_device *device = device_of(rig);
	unsigned int before = fake_count("ibv_query_port");

	vbd_fabric_check_network(rig->fabric, rig->fabric->network_at_ns + 10 * VBD_NS_PER_S - 1);
	rig_settle(rig);
	assert_int_equal(fake_count("ibv_query_port"), before);
	vbd_fabric_check_network(rig->fabric, rig->fabric->network_at_ns + 10 * VBD_NS_PER_S);
	rig_settle(rig);
	assert_int_equal(fake_count("ibv_query_port"), before + 1);
	fake_memory_fail_nth(1);
	rig_ask_ports(rig);
	assert_int_equal(fake_count("ibv_query_port"), before + 1);
	assert_true(vbd_device_port_active(device));
	vbd_fabric_check_network(rig->fabric, rig->fabric->network_at_ns);
	rig_settle(rig);
	assert_int_equal(fake_count("ibv_query_port"), before + 2);
}

RIG_TEST(test_device__gids_have_type_and_scope)
{
	static const struct ibv_gid_entry entries[] = {
		{.gid.raw = {[10] = 0xff, 0xff, 10, 0, 0, 1},
			.gid_index = 3,
			.port_num = 1,
			.gid_type = IBV_GID_TYPE_ROCE_V2,
			.ndev_ifindex = 1},
		{.gid.raw = {0xfe, 0x80, [15] = 1}, .gid_type = IBV_GID_TYPE_ROCE_V1},
		{.gid.raw = {0xfe, 0xbf, [15] = 1}, .gid_type = IBV_GID_TYPE_IB},
		{.gid.raw = {0xfe, 0xc0, [15] = 1}, .gid_type = 77},
	};
	struct vbd_gid *gids = NULL;
	size_t count = 0;

	memcpy(rig->device->gids, entries, sizeof(entries));
	rig->device->gid_count = VBD_ARRAY_LEN(entries);
	assert_int_equal(vbd_device_query_gids(device_of(rig), &gids, &count, &rig->err), VBD_OK);
	assert_int_equal(count, 4);
	assert_int_equal(gids[0].gid_index, 3);
	assert_int_equal(gids[0].port_num, 1);
	assert_string_equal(gids[0].type, "roce_v2");
	assert_string_equal(gids[0].scope, "ipv4_mapped");
	assert_string_equal(gids[0].netdev, "lo");
	assert_string_equal(gids[1].type, "roce_v1");
	assert_string_equal(gids[1].scope, "link_local");
	assert_string_equal(gids[1].netdev, "");
	assert_string_equal(gids[2].type, "ib");
	assert_string_equal(gids[2].scope, "link_local");
	assert_string_equal(gids[3].type, "unknown");
	assert_string_equal(gids[3].scope, "global");
	fake_fail_next("ibv_query_gid_table", EIO);
	assert_int_not_equal(
		vbd_device_query_gids(device_of(rig), &gids, &count, &rig->err), VBD_OK);
	assert_int_equal(count, 4);
	free(gids);
}

/* A device has as many GIDs as its driver says, and a container host an address for each. */
RIG_TEST(test_device__all_gids_are_told_however_many)
{
	static const size_t counts[] = {0, 255, 256, 257, 258, 1024, 2047, 2048, FAKE_GIDS};
	struct vbd_gid *gids;
	size_t count;

	for (uint32_t i = 0; i < FAKE_GIDS; i++)
		rig->device->gids[i] = (struct ibv_gid_entry){.gid.raw = {0xfe, 0x80, [15] = 1},
			.gid_index = i,
			.port_num = 1,
			.gid_type = IBV_GID_TYPE_ROCE_V2};
	rig->device->port.gid_tbl_len = FAKE_GIDS;
	rig_ask_ports(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(counts); i++) {
		rig->device->gid_count = counts[i];
		assert_int_equal(
			vbd_device_query_gids(device_of(rig), &gids, &count, &rig->err), VBD_OK);
		assert_int_equal(count, counts[i]);
		for (size_t at = 0; at < count; at++)
			assert_int_equal(gids[at].gid_index, at);
		free(gids);
	}
	/* A port beyond those that the library can name is not taken for another one. */
	rig->device->gids[1].port_num = 257;
	assert_int_equal(vbd_device_query_gids(device_of(rig), &gids, &count, &rig->err), VBD_OK);
	assert_int_equal(count, FAKE_GIDS - 1);
	assert_int_equal(gids[1].gid_index, 2);
	free(gids);
}

/* The file of the interface "lo", of an interface that is no VLAN, and of one with the name of the
 * list. */
static const char *const vlan_files[] = {
	"lo  VID: 7\t REORDER_HDR: 1  dev->priv_flags: 1021\n         total frames received  0\n",
	NULL, "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"};
static size_t vlan_file;

/* The memory that is available at the next checks; NULL: that of this host. */
static const char *meminfo[4];
static size_t n_meminfo;

/* Huge memory of which the kernel has no pages at the first access, as at a limit of a cgroup. */
static struct vbd_mem *unbacked;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_madvise(void *addr, size_t len, int advice);
int __wrap_madvise(void *addr, size_t len, int advice);
int __wrap_ioctl(int fd, unsigned long request);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	const char *text = vlan_file < VBD_ARRAY_LEN(vlan_files) ? vlan_files[vlan_file] : NULL;

	/* The pages of an attempt that failed are not free while they are mapped. */
	if (unbacked && strstr(path, "/free_hugepages"))
		assert_int_equal(unbacked->addr, 0);
	if (strcmp(path, "/proc/meminfo") == 0 && n_meminfo < VBD_ARRAY_LEN(meminfo) &&
		meminfo[n_meminfo])
		text = meminfo[n_meminfo++];
	else if (strcmp(path, "/proc/self/net/vlan/lo") != 0)
		return __real_fopen(path, mode);
	return text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
}

int __wrap_madvise(void *addr, size_t len, int advice)
{
	if (!unbacked || advice != MADV_POPULATE_WRITE)
		return __real_madvise(addr, len, advice);
	errno = EFAULT;
	return -1;
}

/* None of this program may wait for whoever changes network interfaces. */
int __wrap_ioctl(int fd, unsigned long request)
{
	fail_msg("ioctl 0x%lx of descriptor %d", request, fd);
	return -1;
}

RIG_TEST(test_device__a_vlan_is_known_without_a_call_that_waits)
{
	static const int vlan_ids[] = {7, -1, -1};
	struct vbd_gid *gids = NULL;
	size_t count;

	rig->device->gids[0].ndev_ifindex = 1;
	for (vlan_file = 0; vlan_file < VBD_ARRAY_LEN(vlan_files); vlan_file++) {
		assert_int_equal(
			vbd_device_query_gids(device_of(rig), &gids, &count, &rig->err), VBD_OK);
		assert_string_equal(gids[0].netdev, "lo");
		assert_int_equal(gids[0].vlan_id, vlan_ids[vlan_file]);
		free(gids);
	}
}

/* References. */

RIG_TEST(test_device__the_last_to_let_go_closes_it)
{
	struct vbd_device *device = device_of(rig);
	struct vbd_gid *gids = NULL;
	struct vbd_gid gid;
	struct vbd_error err = {0};
	enum vbd_status status;
	struct vbd_port port;
	size_t count;

	vbd_device_ref(device);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	assert_int_equal(device->state, VBD_DEVICE_REMOVING);
	assert_int_equal(vbd_device_usable(device, &err), VBD_E_DEVICE_REMOVED);
	assert_false(vbd_device_begin_removal(device));
	assert_false(fake_device_let_go(rig->device));
	assert_int_equal(rig->removed, 0);
	vbd_device_unref(device);
	rig_finish_calls(rig);
	assert_int_equal(device->state, VBD_DEVICE_REMOVED);
	assert_int_not_equal(device->removed_ns, 0);
	assert_int_equal(rig->removed, 1);
	assert_true(fake_device_let_go(rig->device));
	assert_int_equal(vbd_device_async_fd(device), -1);
	vbd_device_drain_async(device);
	assert_false(vbd_device_port_active(device));
	for (int i = 0; i < 3; i++) {
		err = (struct vbd_error){0};
		if (i == 0)
			status = vbd_device_port(device, 1, &port, &err);
		else if (i == 1)
			status = vbd_device_query_gids(device, &gids, &count, &err);
		else
			status = vbd_device_query_gid(device, 1, 0, &gid, &err);
		assert_int_equal(status, VBD_E_DEVICE_REMOVED);
		assert_string_equal(err.text, "device fake0 is removed");
		assert_null(err.call);
	}
	vbd_device_destroy(device);
	assert_true(vbd_list_empty(&rig->fabric->devices));
}

/* Async events. */

RIG_TEST(test_device__all_async_events_are_taken_at_once_and_counted)
{
	struct vbd_device *device = device_of(rig);

	for (int i = 0; i < 5; i++) {
		fake_device_async(rig->device, IBV_EVENT_PORT_ERR, 1);
		fake_device_async(rig->device, IBV_EVENT_PORT_ACTIVE, 1);
	}
	fake_device_async(rig->device, IBV_EVENT_SRQ_ERR, 0);
	fake_device_async(rig->device, (enum ibv_event_type)31, 0);
	fake_device_async(rig->device, (enum ibv_event_type)99, 0);
	vbd_device_drain_async(device);
	assert_int_equal(rig->async_events, 13);
	assert_int_equal(vbd_counter_get(&device->async_events[IBV_EVENT_PORT_ERR]), 5);
	assert_int_equal(vbd_counter_get(&device->async_events[IBV_EVENT_PORT_ACTIVE]), 5);
	assert_int_equal(vbd_counter_get(&device->async_events[IBV_EVENT_SRQ_ERR]), 1);
	assert_int_equal(vbd_counter_get(&device->async_events[31]), 1);
	assert_int_equal(rig->last_async_port, 0);
	fake_device_async(rig->device, IBV_EVENT_GID_CHANGE, 1);
	vbd_device_drain_async(device);
	assert_int_equal(rig->last_async_type, IBV_EVENT_GID_CHANGE);
	assert_int_equal(rig->last_async_port, 1);
}

RIG_TEST(test_device__an_event_of_a_qp_that_is_gone_is_gone)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_DRAINING);

	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(rig->async_events, 0);
}

/* Counters of sysfs. */

struct found {
	unsigned int count;
	char names[8][64];
	uint64_t values[8];
};

static void on_counter(const char *name, uint64_t value, void *arg)
{
	struct found *found = arg;

	assert_in_range(found->count, 0, 7);
	(void)snprintf(found->names[found->count], 64, "%s", name);
	found->values[found->count++] = value;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[300];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static void remove_file(const char *dir, const char *name)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	(void)remove(path);
}

RIG_TEST(test_device__counters_that_can_not_be_read_hide_no_others)
{
	static const char *const parts[] = {"/ports", "/ports/1", "/ports/1/hw_counters"};
	struct found found = {0};
	char root[200];
	char dir[256];

	fake_one_thread();
	(void)snprintf(root, sizeof(root), "%s/test_device.XXXXXX", unit_tmpdir());
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < VBD_ARRAY_LEN(parts); i++) {
		(void)snprintf(dir, sizeof(dir), "%s%s", root, parts[i]);
		assert_int_equal(mkdir(dir, 0700), 0);
	}
	write_file(dir, "sent_pkts", "18446744073709551615\n");
	write_file(dir, "broken", "N/A\n");
	write_file(dir, "empty", "");
	write_file(dir, "lifespan", "10\n");
	vbd_port_counters_read(root, 1, VBD_COUNTER_SET_HW, on_counter, &found);
	vbd_port_counters_read(root, 1, VBD_COUNTER_SET_PORT, on_counter, &found);
	vbd_port_counters_read(root, 2, VBD_COUNTER_SET_HW, on_counter, &found);
	remove_file(dir, "sent_pkts");
	remove_file(dir, "broken");
	remove_file(dir, "empty");
	remove_file(dir, "lifespan");
	for (size_t i = VBD_ARRAY_LEN(parts); i-- > 0;)
		remove_file(root, parts[i]);
	assert_int_equal(rmdir(root), 0);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.names[0], "sent_pkts");
	assert_int_equal(found.values[0], UINT64_MAX);
}

/* Memory. */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

RIG_TEST(test_device__shared_memory_has_a_descriptor_while_it_lives)
{
	struct vbd_device *device = device_of(rig);
	struct vbd_mem mem = {
		.kind = VBD_MEM_SHARED,
		.size_bytes = 12345,
		.access = VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_WRITE,
	};
	struct stat found;
	char path[40];

	assert_int_equal(vbd_mem_allocate(&mem, &rig->err), VBD_OK);
	assert_int_equal(fstat(mem.fd, &found), 0);
	assert_int_equal(found.st_size, 12345);
	assert_int_equal(found.st_nlink, 0); /* no file system has a name for it */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", mem.fd);
	assert_int_equal(open(path, O_WRONLY | O_TRUNC), -1);
	for (size_t i = 0; i < mem.size_bytes; i++)
		assert_int_equal(UNIT_BYTES(&mem)[i], 0);
	vbd_pd_ref(device->pd);
	assert_int_equal(vbd_mem_register(&mem, device->pd, &rig->err), VBD_OK);
	assert_int_not_equal(mem.rkey, 0);
	vbd_mem_deregister(&mem);
	vbd_mem_deregister(&mem);
	assert_int_equal(UNIT_BYTES(&mem)[0], 0);
	vbd_mem_free(&mem);
	assert_false(is_open(mem.fd));
	vbd_mem_free(&mem);
}

RIG_TEST(test_device__freed_shared_memory_stays_with_who_maps_it_unless_emptied)
{
	for (int emptied = 0; emptied <= 1; emptied++) {
		struct vbd_mem mem = {.kind = VBD_MEM_SHARED, .size_bytes = 4096};
		const uint8_t *theirs;

		assert_int_equal(vbd_mem_allocate(&mem, &rig->err), VBD_OK);
		theirs = mmap(NULL, 4096, PROT_READ, MAP_SHARED, mem.fd, 0);
		assert_ptr_not_equal(theirs, MAP_FAILED);
		UNIT_BYTES(&mem)[5] = 7;
		if (emptied)
			vbd_mem_empty(&mem);
		vbd_mem_free(&mem);
		assert_int_equal(theirs[5], emptied ? 0 : 7);
		assert_int_equal(munmap((void *)(uintptr_t)theirs, 4096), 0);
	}
}

/* PROT_NONE is a page that the kernel can't give. */
RIG_TEST(test_device__shared_memory_without_a_page_is_an_error_and_no_signal)
{
	struct vbd_mem mem = {.kind = VBD_MEM_SHARED, .size_bytes = 8192};
	char bytes[] = "bytes", got[sizeof(bytes)];

	assert_int_equal(vbd_mem_allocate(&mem, &rig->err), VBD_OK);
	assert_int_equal(vbd_mem_write(&mem, 4090, bytes, sizeof(bytes), &rig->err), VBD_OK);
	assert_int_equal(vbd_mem_read(&mem, 4090, got, sizeof(got), &rig->err), VBD_OK);
	assert_string_equal(got, "bytes");
	assert_int_equal(mprotect(UNIT_BYTES(&mem) + 4096, 4096, PROT_NONE), 0);
	assert_int_equal(
		vbd_mem_write(&mem, 4096, bytes, sizeof(bytes), &rig->err), VBD_E_NO_MEMORY);
	assert_int_equal(vbd_mem_read(&mem, 4096, got, sizeof(got), NULL), VBD_E_NO_MEMORY);
	assert_int_equal(vbd_mem_read(&mem, 4094, got, sizeof(got), NULL), VBD_E_NO_MEMORY);
	vbd_mem_free(&mem);
}

RIG_TEST(test_device__memory_that_can_not_be_mapped_leaves_no_descriptor)
{
	struct vbd_mem mem = {.kind = VBD_MEM_SHARED, .size_bytes = 4096};

	fake_memory_fail_nth(1);
	assert_int_equal(vbd_mem_allocate(&mem, &rig->err), VBD_E_NO_MEMORY);
	assert_true(fake_memory_failed());
	assert_false(is_open(mem.fd));
	vbd_mem_free(&mem);
}

RIG_TEST(test_device__memory_that_is_not_there_is_refused_before_it_is_used)
{
	struct vbd_mem mem = {.kind = VBD_MEM_ANONYMOUS, .size_bytes = 80 << 20};

	meminfo[0] = "MemFree: 1 kB\nMemAvailable: 102400 kB\n";
	meminfo[1] = "MemAvailable: 16384 kB\n"; /* others have taken the rest meanwhile */
	meminfo[2] = NULL;
	n_meminfo = 0;
	assert_int_equal(vbd_mem_allocate(&mem, &rig->err), VBD_E_NO_MEMORY);
	assert_string_equal(rig->err.text,
		"16777216 bytes are needed, and 16777216 are available on this host");
	assert_int_equal(n_meminfo, 2);
	assert_int_equal(mem.addr, 0);
	/* The device faults in what it needs of such memory. */
	mem.on_demand_paging = true;
	meminfo[2] = meminfo[1];
	assert_int_equal(vbd_mem_allocate(&mem, &rig->err), VBD_OK);
	vbd_mem_free(&mem);
	meminfo[2] = NULL;
}

RIG_TEST(test_device__huge_pages_that_can_not_be_had_are_no_fault_of_the_registration)
{
	struct vbd_mem mem = {
		.kind = VBD_MEM_HUGEPAGE, .size_bytes = 2097153, .page_size_bytes = 2097152};
	enum vbd_status status;

	fake_memory_lend_huge(true);
	unbacked = &mem;
	status = vbd_mem_allocate(&mem, &rig->err);
	unbacked = NULL;
	fake_memory_lend_huge(false);
	assert_int_equal(status, VBD_E_NO_MEMORY);
	assert_non_null(strstr(rig->err.text, "2 huge pages of 2097152 bytes are needed"));
	assert_int_equal(mem.addr, 0);
}

RIG_TEST(test_device__messages_have_memory_each)
{
	struct vbd_pd *pd = device_of(rig)->pd;
	unsigned int users = pd->refs;
	struct vbd_slab_range ranges[VBD_MESSAGES_MAX], more = {0};
	struct vbd_error err = {0};

	for (int i = 0; i < VBD_MESSAGES_MAX; i++) {
		assert_int_equal(
			vbd_message_take(pd, VBD_MESSAGE_BYTES_MAX, &ranges[i], &rig->err), VBD_OK);
		memset(ranges[i].addr, i, VBD_MESSAGE_BYTES_MAX);
		assert_int_equal(fake_live().mrs, i / 4 + 1);
	}
	for (int i = 0; i < VBD_MESSAGES_MAX; i++)
		assert_int_equal(ranges[i].addr[VBD_MESSAGE_BYTES_MAX - 1], i);
	assert_int_equal(pd->refs, users);
	assert_int_equal(vbd_message_take(pd, 1, &more, &err), VBD_E_TOO_MANY_REQUESTS);
	assert_int_equal(err.limit, VBD_MESSAGES_MAX);
	assert_int_equal(vbd_message_take(pd, 1, &more, NULL), VBD_E_TOO_MANY_REQUESTS);
	vbd_message_give(pd, &more);
	vbd_message_give(pd, &ranges[17]);
	assert_int_equal(vbd_message_take(pd, 1, &more, &rig->err), VBD_OK);
	vbd_message_give(pd, &more);
	for (int i = 0; i < VBD_MESSAGES_MAX; i++)
		vbd_message_give(pd, &ranges[i]);
	assert_int_equal(fake_live().mrs, VBD_MESSAGES_MAX / 4);
}

RIG_TEST(test_device__memory_of_messages_that_can_not_be_made_leaves_nothing)
{
	struct vbd_device *device = device_of(rig);
	unsigned int refs = device->refs;
	struct vbd_error err = {0};
	struct vbd_slab_range range;

	for (unsigned int nth = 1; nth <= 2; nth++) {
		fake_memory_fail_nth(nth);
		assert_int_not_equal(vbd_message_take(device->pd, 1, &range, &err), VBD_OK);
		assert_true(fake_memory_failed());
	}
	fake_fail_next("ibv_reg_mr", EAGAIN);
	assert_int_equal(vbd_message_take(device->pd, 1, &range, NULL), VBD_E_DEVICE_LIMIT);
	assert_int_equal(device->refs, refs);
	assert_int_equal(vbd_message_take(device->pd, 1, &range, &rig->err), VBD_OK);
	vbd_message_give(device->pd, &range);
}

RIG_TEST(test_device__the_memory_of_messages_goes_with_the_device)
{
	struct vbd_device *device = device_of(rig);
	struct vbd_slab_range range;

	(void)rig_conn_connect(rig, NULL);
	assert_int_equal(vbd_message_take(device->pd, 1, &range, &rig->err), VBD_OK);
	vbd_message_give(device->pd, &range);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_int_equal(device->state, VBD_DEVICE_REMOVED);
	assert_int_equal(fake_live().mrs, 0);
}

/* A second may pass between the two calls: then it is learnt again. */
RIG_TEST(test_device__a_neighbour_that_was_found_is_known_for_a_while)
{
	struct vbd_device *device = device_of(rig);
	struct ibv_ah_attr path = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 2}};

	path.grh.dgid.raw[15] = 9;
	assert_false(vbd_neighbour_is_known(device, &path));
	do
		vbd_neighbour_learn(device, &path);
	while (!vbd_neighbour_is_known(device, &path));
	path.grh.dgid.raw[15] = 8;
	assert_false(vbd_neighbour_is_known(device, &path));
	path.grh.dgid.raw[15] = 9;
	path.grh.sgid_index = 3;
	assert_false(vbd_neighbour_is_known(device, &path));
}

RIG_TEST(test_device__each_attribute_is_taken_from_its_own)
{
	struct ibv_device_attr *said = &rig->device->attr;
	const struct vbd_device_attr *attr;

	said->vendor_part_id = 21;
	said->max_mr_size = UINT64_C(1) << 40;
	said->max_qp = 101;
	said->max_qp_wr = 102;
	said->max_sge = 103;
	said->max_sge_rd = 104;
	said->max_cq = 105;
	said->max_cqe = 106;
	said->max_mr = 107;
	said->max_pd = 108;
	said->max_qp_rd_atom = 109;
	said->max_qp_init_rd_atom = 110;
	said->max_srq = 111;
	said->max_srq_wr = 112;
	said->max_mw = 113;
	said->max_ah = 114;
	said->max_mcast_grp = 115;
	rig->device->cq_mod_caps.max_cq_count = 116;
	rig->device->cq_mod_caps.max_cq_period = 117;
	rig->device->port.max_msg_sz = 118;
	attr = &opened_again(rig)->attr;
	assert_int_equal(attr->vendor_part_id, 21);
	assert_int_equal(attr->max_mr_size_bytes, UINT64_C(1) << 40);
	assert_int_equal(attr->max_qp, 101);
	assert_int_equal(attr->max_qp_wr, 102);
	assert_int_equal(attr->max_sge, 103);
	assert_int_equal(attr->max_sge_rd, 104);
	assert_int_equal(attr->max_cq, 105);
	assert_int_equal(attr->max_cqe, 106);
	assert_int_equal(attr->max_mr, 107);
	assert_int_equal(attr->max_pd, 108);
	assert_int_equal(attr->max_qp_rd_atom, 109);
	assert_int_equal(attr->max_qp_init_rd_atom, 110);
	assert_int_equal(attr->max_srq, 111);
	assert_int_equal(attr->max_srq_wr, 112);
	assert_int_equal(attr->max_mw, 113);
	assert_int_equal(attr->max_ah, 114);
	assert_int_equal(attr->max_mcast_grp, 115);
	assert_int_equal(attr->max_cq_count, 116);
	assert_int_equal(attr->max_cq_period_us, 117);
	assert_int_equal(attr->max_msg_bytes, 118);
}

RIG_TEST(test_device__a_port_tells_all_of_its_attributes)
{
	struct vbd_port port;

	rig->device->port.phys_state = 5;
	rig->device->port.lid = 77;
	rig->device->port.sm_lid = 78;
	rig->device->port.pkey_tbl_len = 3;
	rig->device->port.max_msg_sz = 1 << 30;
	rig->device->port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	rig_ask_ports(rig);
	assert_int_equal(vbd_device_port(device_of(rig), 1, &port, &rig->err), VBD_OK);
	assert_int_equal(port.port_num, 1);
	assert_int_equal(port.phys_state, 5);
	assert_int_equal(port.lid, 77);
	assert_int_equal(port.sm_lid, 78);
	assert_int_equal(port.pkeys, 3);
	assert_int_equal(port.max_msg_bytes, 1 << 30);
	assert_string_equal(port.link_layer, "infiniband");
}

/* A device of several ports is active if one of them is. */
RIG_TEST(test_device__each_port_is_asked)
{
	struct vbd_device *device;
	unsigned int asked = fake_count("ibv_query_port");

	rig->device->attr.phys_port_cnt = 3;
	rig->device->port.state = IBV_PORT_DOWN;
	device = opened_again(rig);
	assert_int_equal(fake_count("ibv_query_port"), asked + 3);
	assert_true(vbd_device_ports_down(device));
	fake_device_async(rig->device, IBV_EVENT_PORT_ACTIVE, 3);
	fake_device_async(rig->device, IBV_EVENT_PORT_ACTIVE, 4);
	vbd_device_drain_async(device);
	assert_true(vbd_device_port_active(device));
	assert_false(vbd_device_ports_down(device));
	rig_settle(rig);
	assert_int_equal(fake_count("ibv_query_port"), asked + 9);
	assert_true(vbd_device_ports_down(device));
}

RIG_TEST(test_device__events_of_a_port_name_it_and_end_recent_answers)
{
	static const struct {
		enum ibv_event_type type;
		bool of_port;
	} rows[] = {
		{IBV_EVENT_PORT_ACTIVE, true},
		{IBV_EVENT_PORT_ERR, true},
		{IBV_EVENT_LID_CHANGE, true},
		{IBV_EVENT_PKEY_CHANGE, true},
		{IBV_EVENT_SM_CHANGE, true},
		{IBV_EVENT_CLIENT_REREGISTER, true},
		{IBV_EVENT_GID_CHANGE, true},
		{IBV_EVENT_SRQ_ERR, false},
		{(enum ibv_event_type)31, false},
	};
	struct vbd_device *device = device_of(rig);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		device->recent.gid_at_ns = 1;
		device->port_err_ns = 0;
		fake_device_async(rig->device, rows[i].type, rows[i].of_port);
		vbd_device_drain_async(device);
		assert_int_equal(rig->async_events, i + 1);
		assert_int_equal(rig->last_async_type, rows[i].type);
		assert_int_equal(rig->last_async_port, rows[i].of_port);
		assert_int_equal(device->recent.gid_at_ns, rows[i].of_port ? 0 : 1);
		assert_int_equal(device->port_err_ns != 0, rows[i].type == IBV_EVENT_PORT_ERR);
	}
}

RIG_TEST(test_device__events_of_a_queue_pair_are_not_told_as_those_of_the_device)
{
	static const enum ibv_event_type types[] = {IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED,
		IBV_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG_ERR, IBV_EVENT_QP_LAST_WQE_REACHED};
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	uint32_t entries = rc->conn->timeline.count;

	for (size_t i = 0; i < VBD_ARRAY_LEN(types); i++) {
		fake_qp_async(rc->conn->qp.ibv_qp, types[i]);
		rig_settle(rig);
		assert_int_equal(rc->conn->timeline.count, ++entries);
		assert_int_equal(vbd_counter_get(&device_of(rig)->async_events[types[i]]), 1);
	}
	assert_int_equal(rig->async_events, 0);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_device__a_neighbour_is_one_of_a_port_and_not_for_ever)
{
	struct vbd_device *device = device_of(rig);
	struct ibv_ah_attr path = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 2}};
	struct vbd_neighbour *only = NULL;

	path.grh.dgid.raw[15] = 9;
	path.is_global = 0;
	vbd_neighbour_learn(device, &path);
	path.is_global = 1;
	vbd_neighbour_learn(device, &path);
	for (size_t i = 0; i < VBD_NEIGHBOURS; i++) {
		if (device->recent.neighbours[i].at_ns) {
			assert_null(only);
			only = &device->recent.neighbours[i];
		}
	}
	assert_non_null(only);
	only->at_ns += 3600 * VBD_NS_PER_S;
	assert_true(vbd_neighbour_is_known(device, &path));
	path.is_global = 0;
	assert_false(vbd_neighbour_is_known(device, &path));
	path.is_global = 1;
	path.port_num = 2;
	assert_false(vbd_neighbour_is_known(device, &path));
	path.port_num = 1;
	only->at_ns = vbd_clock_mono_ns() - VBD_NS_PER_S;
	assert_false(vbd_neighbour_is_known(device, &path));
}

RIG_TEST(test_device__access_of_memory_is_that_of_the_library)
{
	static const struct {
		unsigned int access, flags;
	} rows[] = {
		{0, 0},
		{VBD_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE},
		{VBD_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ},
		{VBD_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC},
		{VBD_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND},
		{VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_REMOTE_READ,
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		assert_int_equal(vbd_mem_access_flags(rows[i].access), rows[i].flags);
}

RIG_TEST(test_device__memory_in_huge_pages_is_mapped_in_whole_ones)
{
	static const struct {
		size_t size_bytes, mapped_bytes;
	} rows[] = {{1, 2097152}, {2097152, 2097152}, {2097153, 4194304}};
	struct vbd_mem mem = {.size_bytes = 12345};

	assert_false(vbd_mem_is_huge(&mem));
	assert_int_equal(vbd_mem_mapped_bytes(&mem), 12345);
	mem.page_size_bytes = 2097152;
	mem.kind = VBD_MEM_HUGEPAGE;
	assert_true(vbd_mem_is_huge(&mem));
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		mem.size_bytes = rows[i].size_bytes;
		assert_int_equal(vbd_mem_mapped_bytes(&mem), rows[i].mapped_bytes);
	}
	mem.kind = VBD_MEM_SHARED;
	assert_true(vbd_mem_is_huge(&mem));
	mem.page_size_bytes = (size_t)sysconf(_SC_PAGESIZE);
	assert_false(vbd_mem_is_huge(&mem));
}

RIG_TEST(test_device__errors_name_it_and_what_it_lacks)
{
	struct vbd_device *device = device_of(rig);
	struct vbd_error err = {0};
	struct vbd_slab_range ranges[VBD_MESSAGES_MAX + 1];

	device->caps = 0;
	assert_int_equal(vbd_device_require(device, VBD_CAP_SRQ, &err), VBD_E_NOT_SUPPORTED);
	assert_string_equal(err.text, "device fake0 (roce) lacks srq");
	assert_string_equal(err.device, "fake0");
	assert_string_equal(err.capability, "srq");
	assert_int_equal(vbd_device_require(device, VBD_CAP_SRQ, NULL), VBD_E_NOT_SUPPORTED);
	err = (struct vbd_error){0};
	for (int i = 0; i < VBD_MESSAGES_MAX; i++)
		assert_int_equal(vbd_message_take(device->pd, 1, &ranges[i], &rig->err), VBD_OK);
	assert_int_equal(vbd_message_take(device->pd, 1, &ranges[VBD_MESSAGES_MAX], &err),
		VBD_E_TOO_MANY_REQUESTS);
	assert_string_equal(err.text, "device fake0 has 64 messages in flight, the limit");
	for (int i = 0; i < VBD_MESSAGES_MAX; i++)
		vbd_message_give(device->pd, &ranges[i]);
	err = (struct vbd_error){0};
	vbd_device_ref(device);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	assert_int_equal(vbd_device_usable(device, &err), VBD_E_DEVICE_REMOVED);
	assert_string_equal(err.text, "device fake0 is removing");
	vbd_device_unref(device);
	rig_finish_calls(rig);
	err = (struct vbd_error){0};
	assert_int_equal(vbd_device_usable(device, &err), VBD_E_DEVICE_REMOVED);
	assert_string_equal(err.text, "device fake0 is removed");
}

RIG_TEST(test_device__private_memory_is_read_and_written_in_its_place)
{
	struct vbd_mem mem = {.size_bytes = 4096};
	char got[6] = "";

	assert_int_equal(vbd_mem_allocate(&mem, &rig->err), VBD_OK);
	assert_int_equal(vbd_mem_write(&mem, 7, "bytes", 6, &rig->err), VBD_OK);
	assert_string_equal((const char *)UNIT_BYTES(&mem) + 7, "bytes");
	assert_int_equal(UNIT_BYTES(&mem)[6], 0);
	assert_int_equal(vbd_mem_read(&mem, 7, got, 6, &rig->err), VBD_OK);
	assert_string_equal(got, "bytes");
	vbd_mem_free(&mem);
	assert_null(UNIT_BYTES(&mem));
}
