/* SPDX-License-Identifier: Apache-2.0 */
/* News of the kernel about devices and network interfaces. The linker puts the functions below
 * named __wrap_... in place of those of daemon/uevent.c. */
#include "daemon/daemon.h"

#include "daemon/core/devices.h"
#include "daemon/uevent.h"
#include "tests/fake/fake.h"
#include "tests/unit/svc.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum vbd_status __wrap_vbd_uevent_open(int *ret_fd, struct vbd_error *err);
bool __wrap_vbd_uevent_drain(int fd, vbd_uevent_cb cb, void *arg);
enum vbd_status __wrap_vbd_linkwatch_open(int *ret_fd, struct vbd_error *err);
bool __wrap_vbd_linkwatch_drain(int fd);

/* The kernel. An eventfd for each of its two sockets is readable when it has something to say. */
static struct {
	bool silent; /* has no uevents */
	int uevents, links;
	const char *action, *sysname; /* NULL: uevents were lost */
	bool changed;		      /* an interface; false: there was nothing to read */
} kernel;

static int drained(int fd)
{
	uint64_t count;

	return (int)read(fd, &count, sizeof(count));
}

static void tell(int fd)
{
	const uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

enum vbd_status __wrap_vbd_uevent_open(int *ret_fd, struct vbd_error *err)
{
	if (kernel.silent)
		return vbd_error_errno(err, VBD_OK, "socket", EPROTONOSUPPORT, "no uevents");
	*ret_fd = kernel.uevents = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return VBD_OK;
}

bool __wrap_vbd_uevent_drain(int fd, vbd_uevent_cb cb, void *arg)
{
	(void)drained(fd);
	if (!kernel.action)
		return false;
	cb(kernel.action, kernel.sysname, arg);
	return true;
}

enum vbd_status __wrap_vbd_linkwatch_open(int *ret_fd, struct vbd_error *err)
{
	(void)err;
	*ret_fd = kernel.links = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return VBD_OK;
}

bool __wrap_vbd_linkwatch_drain(int fd)
{
	(void)drained(fd);
	return kernel.changed;
}

static void uevent(const char *action, const char *sysname)
{
	kernel.action = action;
	kernel.sysname = sysname;
	tell(kernel.uevents);
}

static struct vbd_device *device_of(struct svc *svc, const char *name)
{
	return vbd_fabric_device(svc->daemon->fabric, name);
}

static bool is_present(struct svc *svc, const char *name)
{
	const struct vbd_device *device = device_of(svc, name);

	return device && device->state == VBD_DEVICE_PRESENT;
}

static int setup(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	return svc_setup(state);
}

#define HOTPLUG_TEST(name) TEST_WITH(name, struct svc *svc, setup, svc_teardown)

HOTPLUG_TEST(test_services_hotplug__a_uevent_brings_a_device)
{
	(void)fake_device_add("fake1");
	svc_turn(svc);
	assert_null(device_of(svc, "fake1"));
	uevent("add", "uverbs1");
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_ADDED), 2);
}

HOTPLUG_TEST(test_services_hotplug__lost_uevents_are_made_up_for)
{
	(void)fake_device_add("fake1");
	uevent(NULL, NULL);
	SVC_UNTIL(svc, is_present(svc, "fake1"));
}

HOTPLUG_TEST(test_services_hotplug__a_uevent_takes_its_device_and_no_other)
{
	const struct vbd_device *first = device_of(svc, "fake0");

	(void)fake_device_add("fake1");
	uevent("add", "uverbs1");
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	/* The list of devices may still have the one that went. */
	uevent("remove", "uverbs1");
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED) == 1);
	assert_int_equal(first->state, VBD_DEVICE_PRESENT);
	/* Another uevent with its name takes none. */
	uevent("change", "uverbs0");
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED), 1);
	assert_int_equal(first->state, VBD_DEVICE_PRESENT);
}

/* libibverbs keeps the old name, also in the ids that it binds to the device. */
HOTPLUG_TEST(test_services_hotplug__a_device_that_is_renamed_keeps_its_id)
{
	struct fake_device *fake = fake_device_find("fake0");
	const struct vbd_device *device = device_of(svc, "fake0");
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_buffer *buffer = svc_buffer(svc, "", 4096, 0);
	struct vbd_listener *listener = svc_listen(svc, &spec);
	struct svc_pair before = svc_pair(svc, listener), after;
	const uint64_t id = device->id;

	fake->new_name = "eth0_rdma";
	uevent("move", "eth0_rdma");
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_RENAMED) == 1);
	assert_null(device_of(svc, "fake0"));
	assert_ptr_equal(device_of(svc, "eth0_rdma"), device);
	assert_int_equal(device->id, id);
	assert_string_equal(buffer->device.name, "eth0_rdma");
	assert_int_equal(buffer->device.id, id);
	assert_string_equal(before.active->conn->device.name, "eth0_rdma");
	after = svc_pair(svc, listener);
	assert_string_equal(after.active->conn->device.name, "eth0_rdma");
	assert_int_equal(after.active->conn->device.id, id);
	assert_int_equal(after.passive->conn->device.id, id);
	assert_int_equal(listener->cm.device.id, 0);
	svc_close(svc, before.active);
	/* Another device may get the name. */
	(void)fake_device_add("fake0");
	uevent("add", "uverbs1");
	SVC_UNTIL(svc, is_present(svc, "fake0"));
	assert_ptr_not_equal(device_of(svc, "fake0"), device);
	assert_string_equal(
		vbd_device_of_id(&svc->daemon->fabric->devices, after.active->conn->cm_id),
		"eth0_rdma");
	/* The removal finds what is on the device. */
	fake_device_unplug(fake);
	uevent("remove", "uverbs0");
	SVC_UNTIL(svc, after.active->object.ended && device->state == VBD_DEVICE_REMOVED);
	assert_int_equal(buffer->state, VBD_BUFFER_LOST);
	assert_true(is_present(svc, "fake0"));
}

static struct vbd_buffer *buffer_on(struct svc *svc, const char *device_name)
{
	struct vbd_buffer_spec spec = {.size_bytes = 4096};
	struct vbd_buffer *buffer = NULL;

	(void)snprintf(spec.device_name, sizeof(spec.device_name), "%s", device_name);
	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_READY);
	return buffer;
}

/* By way of a third name, between two looks. A look that falls between two steps may find the name
 * of both. */
HOTPLUG_TEST(test_services_hotplug__devices_that_exchange_names_keep_what_is_theirs)
{
	struct fake_device *zero = fake_device_find("fake0"), *one = fake_device_add("fake1");
	struct vbd_buffer *of_zero, *of_one;
	unsigned int looks;

	uevent("add", "uverbs1");
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	of_zero = buffer_on(svc, "fake0");
	of_one = buffer_on(svc, "fake1");
	one->new_name = "fake0";
	looks = fake_count("ibv_get_device_list");
	uevent("move", "fake0");
	SVC_UNTIL(svc, fake_count("ibv_get_device_list") > looks &&
			       !vbd_fabric_is_scanning(svc->daemon->fabric));
	zero->new_name = "fake1";
	uevent("move", "fake1");
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_RENAMED) == 2);
	assert_int_equal(device_of(svc, "fake1")->id, 1);
	assert_int_equal(device_of(svc, "fake0")->id, 2);
	assert_string_equal(of_zero->device.name, "fake1");
	assert_string_equal(of_one->device.name, "fake0");
	fake_device_unplug(one);
	uevent("remove", "uverbs1");
	SVC_UNTIL(svc, of_one->state == VBD_BUFFER_LOST);
	assert_int_equal(of_zero->state, VBD_BUFFER_READY);
	/* The name of one that went, between two looks. */
	(void)fake_device_add("fake2");
	uevent("add", "uverbs2");
	SVC_UNTIL(svc, is_present(svc, "fake2"));
	of_one = buffer_on(svc, "fake2");
	fake_device_unplug(zero);
	fake_device_find("fake2")->new_name = "fake1";
	uevent("move", "fake1");
	SVC_UNTIL(svc,
		of_zero->state == VBD_BUFFER_LOST && strcmp(of_one->device.name, "fake1") == 0);
	assert_int_equal(of_one->state, VBD_BUFFER_READY);
}

HOTPLUG_TEST(test_services_hotplug__a_device_whose_node_comes_late_is_opened)
{
	(void)fake_device_add("fake1");
	fake_fail_next("ibv_open_device", ENOENT);
	uevent("add", "uverbs1");
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_FAILED) == 1);
	assert_false(is_present(svc, "fake1"));
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_ADDED), 2);
}

static struct vbd_device *record_of(struct svc *svc, const char *name)
{
	struct vbd_device *device = vbd_device_find_ref(svc->daemon, name, NULL);

	assert_non_null(device);
	return device;
}

/* No uevent tells of a file's mode. The reason is told once, and not at each try. */
HOTPLUG_TEST(test_services_hotplug__a_device_is_tried_for_as_long_as_it_fails)
{
	struct fake_device *fake = fake_device_add("fake1");
	const struct vbd_device *device;
	unsigned int tries;
	uint64_t id;

	fake->open_errno = EACCES;
	uevent("add", "uverbs1");
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_FAILED) == 1);
	device = record_of(svc, "fake1");
	id = device->id;
	assert_int_equal(device->state, VBD_DEVICE_FAILED);
	assert_int_equal(device->error.status, VBD_E_PERMISSION_DENIED);
	tries = fake_count("ibv_open_device");
	SVC_UNTIL(svc, fake_count("ibv_open_device") == tries + 1);
	for (unsigned int i = 2; i < 12; i++) {
		vbd_hotplug_look(svc->daemon); /* a reload */
		SVC_UNTIL(svc, fake_count("ibv_open_device") == tries + i);
		SVC_UNTIL(svc, !device->opening);
	}
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_FAILED), 1);
	fake->open_errno = ENODEV;
	vbd_hotplug_look(svc->daemon);
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_FAILED) == 2);
	fake->open_errno = 0;
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	assert_int_equal(device_of(svc, "fake1")->id, id);
	assert_int_equal(device->error.status, VBD_OK);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED), 0);
}

HOTPLUG_TEST(test_services_hotplug__nothing_waits_for_a_device_that_opens_slowly)
{
	const struct vbd_buffer_spec spec = {.size_bytes = 64, .device_name = "fake1"};
	struct vbd_error err = {0};
	struct vbd_buffer *buffer;

	fake_block("ibv_open_device");
	(void)fake_device_add("fake1");
	uevent("add", "uverbs1");
	SVC_UNTIL(svc, fake_blocked() == 1);
	assert_int_equal(record_of(svc, "fake1")->state, VBD_DEVICE_OPENING);
	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &err), VBD_E_NO_DEVICE);
	assert_string_equal(err.text, "device fake1 is being opened");
	/* Other devices are used, and a second scan does not open it a second time. */
	(void)svc_buffer(svc, "there", 64, 0);
	uevent("change", "uverbs1");
	SVC_UNTIL(svc, fake_count("ibv_get_device_list") == 3);
	fake_unblock();
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	assert_int_equal(fake_count("ibv_open_device"), 2);
}

/* The record stays until the call is back, as that has the device; one of the same name waits. */
HOTPLUG_TEST(test_services_hotplug__a_device_that_goes_while_it_is_opened)
{
	struct fake_device *fake;
	uint64_t id;

	fake_block("ibv_open_device");
	fake = fake_device_add("fake1");
	uevent("add", "uverbs1");
	SVC_UNTIL(svc, fake_blocked() == 1);
	id = record_of(svc, "fake1")->id;
	fake_device_unplug(fake);
	uevent("remove", "uverbs1");
	SVC_UNTIL(svc, record_of(svc, "fake1")->gone);
	(void)fake_device_add("fake1");
	uevent("add", "uverbs2");
	SVC_UNTIL(svc, svc->daemon->fabric->rescan_owed);
	fake_unblock();
	SVC_UNTIL(svc, is_present(svc, "fake1"));
	assert_int_equal(device_of(svc, "fake1")->id, id + 1);
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED) == 1);
}

/* As when rdma_ucm is loaded later, of which no uevent tells. */
HOTPLUG_TEST(test_services_hotplug__rdma_cm_may_come_late)
{
	char detail[200];

	svc_stop(svc);
	fake_fail_next("rdma_create_event_channel", ENOENT);
	assert_true(svc_start(svc));
	assert_true(is_present(svc, "fake0"));
	assert_false(vbd_ready_cm(svc->daemon, detail, sizeof(detail)));
	assert_non_null(strstr(detail, "ENOENT"));
	SVC_UNTIL(svc, vbd_ready_cm(svc->daemon, detail, sizeof(detail)));
	(void)svc_pair(svc, svc_listen(svc, NULL));
}

/* The start waits for devices a moment, and then goes on without them. */
HOTPLUG_TEST(test_services_hotplug__a_scan_that_hangs_holds_up_no_start)
{
	svc_stop(svc);
	fake_block("ibv_get_device_list");
	assert_true(svc_start(svc));
	assert_null(device_of(svc, "fake0"));
	fake_unblock();
	SVC_UNTIL(svc, is_present(svc, "fake0"));
	(void)svc_pair(svc, svc_listen(svc, NULL));
}

HOTPLUG_TEST(test_services_hotplug__a_change_of_an_interface_voids_what_is_remembered)
{
	struct vbd_device *device = device_of(svc, "fake0");
	static const struct vbd_device_recent nothing;
	struct vbd_gid gid;

	assert_int_equal(vbd_device_recent_gid(device, 1, 0, &gid), VBD_OK);
	svc->device->port.state = IBV_PORT_DOWN;
	assert_memory_not_equal(&device->recent, &nothing, sizeof(nothing));
	tell(kernel.links);
	svc_turn(svc);
	assert_memory_not_equal(&device->recent, &nothing, sizeof(nothing));
	kernel.changed = true;
	tell(kernel.links);
	SVC_UNTIL(svc, memcmp(&device->recent, &nothing, sizeof(nothing)) == 0);
	SVC_UNTIL(svc, vbd_device_ports_down(device));
}

/* A device that has come and gone. */
static void pass_by(struct svc *svc, const char *name)
{
	uint64_t removed = svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED);
	struct fake_device *device = fake_device_add(name);

	unit_rescan(svc->daemon->fabric);
	assert_true(is_present(svc, name));
	fake_device_unplug(device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED) > removed);
	svc_turn(svc);
}

/* Returns the number of records of removed devices, of which the oldest comes first. */
static unsigned int count_removed(struct svc *svc, const struct vbd_device **ret_oldest)
{
	unsigned int count = 0;

	*ret_oldest = NULL;
	vbd_list_for_each (link, &svc->daemon->fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->state != VBD_DEVICE_REMOVED)
			continue;
		*ret_oldest = count++ ? *ret_oldest : device;
	}
	return count;
}

HOTPLUG_TEST(test_services_hotplug__the_last_devices_that_went_are_remembered)
{
	const struct vbd_device *oldest;
	unsigned int kept = 0;
	char name[16];

	for (unsigned int i = 1; i <= 40; i++) {
		(void)snprintf(name, sizeof(name), "passes%u", i);
		pass_by(svc, name);
		kept = count_removed(svc, &oldest);
		(void)snprintf(name, sizeof(name), "passes%u", i - kept + 1);
		assert_string_equal(oldest->name, name);
		assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_DELETED), i - kept);
	}
	assert_in_range(kept, 10, 30);
	assert_true(is_present(svc, "fake0"));
}

HOTPLUG_TEST(test_services_hotplug__without_uevents_it_starts_and_finds_devices)
{
	svc_stop(svc);
	kernel.silent = true;
	assert_true(svc_start(svc));
	assert_true(is_present(svc, "fake0"));
	(void)fake_device_add("fake1");
	SVC_UNTIL(svc, is_present(svc, "fake1"));
}
