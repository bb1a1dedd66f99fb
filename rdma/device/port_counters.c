/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/port_counters.h"

#include "rdma/provider/provider.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

VBD_ENUM_NAMES(vbd_counter_set_name, enum vbd_counter_set, VBD_COUNTER_SET_MAP)

/* Read each file on its own: a file that can't be read or contains "N/A" must not hide the others
 * (node_exporter #3265). */
static bool read_number(int dir_fd, const char *name, uint64_t *ret_value)
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
		if (read_number(dirfd(dir), entry->d_name, &value))
			cb(entry->d_name, value, arg);
	}
	(void)closedir(dir);
}
