/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/port_counters.h"

#include "rdma/device/device.h"
#include "rdma/provider/provider.h"

#include <fcntl.h>
#include <unistd.h>

VBD_ENUM_NAMES(vbd_counter_set_name, enum vbd_counter_set, VBD_COUNTER_SET_MAP)

/* Read each file on its own: a file that can't be read or contains "N/A" must not hide the others
 * (node_exporter #3265). */
static bool read_counter_file(int dir_fd, const char *name, uint64_t *ret_value)
{
	char text[32];
	char *end;
	ssize_t len;
	int fd;

	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	*ret_value = strtoull(text, &end, 10);
	return end != text;
}

void vbd_port_counters_read(const char *ibdev_path, unsigned int port_num, enum vbd_counter_set set,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	char path[400];
	struct dirent *entry;
	uint64_t value;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s/ports/%u/%s", ibdev_path, port_num,
		vbd_counter_set_name(set));
	dir = vbd_pv_open_counters(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		/* "lifespan" is the refresh interval of the set, not a counter. */
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lifespan") == 0)
			continue;
		if (read_counter_file(dirfd(dir), entry->d_name, &value))
			cb(entry->d_name, value, arg);
	}
	(void)closedir(dir);
}

/* --- a CM that is silent -----------------------------------------------------------------------
 */

static void add_to_sum(const char *name, uint64_t value, void *arg)
{
	(void)name;
	*(uint64_t *)arg += value;
}

uint64_t vbd_cm_messages_in(const struct vbd_device *device, uint8_t port_num)
{
	uint64_t sum = 0;

	if (port_num)
		vbd_port_counters_read(
			device->ibdev_path, port_num, VBD_COUNTER_SET_CM_RX_MSGS, add_to_sum, &sum);
	return sum;
}

void vbd_cm_silence_begin(struct vbd_device *device, uint8_t port_num)
{
	device->cm_port_num = vbd_device_is_soft_roce(device) ? port_num : 0;
	device->cm_counted = false;
}

void vbd_cm_silence_counted(struct vbd_device *device, uint64_t messages)
{
	if (!device->cm_counted)
		device->cm_messages_before = messages;
	device->cm_counted = device->cm_port_num;
	device->cm_messages = messages;
}

bool vbd_cm_is_silent(const struct vbd_device *device)
{
	return device->port_err_ns && device->cm_counted &&
	       device->cm_messages == device->cm_messages_before;
}

bool vbd_cm_must_not_send(struct vbd_device *device)
{
	return vbd_device_is_soft_roce(device) && device->state == VBD_DEVICE_PRESENT &&
	       vbd_device_ports_down(device);
}
