/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/copies.h"

#include "daemon/memory/checksum.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int copies_setup(void **state)
{
	struct copies *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	scratch_make(c->folder);
	c->above_fd = open(c->folder, O_PATH | O_DIRECTORY);
	assert_int_equal(mkdirat(c->above_fd, "export", 0755), 0);
	assert_int_equal(mkdirat(c->above_fd, "outside", 0755), 0);
	c->outside_fd = openat(c->above_fd, "outside", O_PATH | O_DIRECTORY);
	c->root = (struct vbd_copy_root){
		.dir_fd = openat(c->above_fd, "export", O_PATH | O_DIRECTORY),
		.path = ".",
		.options = VBD_COPY_RECURSIVE,
		.overwrite = VBD_COPY_OVERWRITE_ALWAYS,
		.max_bytes = UINT64_MAX,
		.umask = 022,
	};
	vbd_copy_part_suffix(0x123456789abcdef, c->root.part_suffix);
	*state = c;
	return 0;
}

int copies_teardown(void **state)
{
	struct copies *c = *state;

	assert_int_equal(close(c->root.dir_fd), 0);
	assert_int_equal(close(c->outside_fd), 0);
	assert_int_equal(close(c->above_fd), 0);
	scratch_remove(c->folder);
	free(c);
	return 0;
}

void copies_put(int dir_fd, const char *path, const char *text)
{
	int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

void copies_expect(int dir_fd, const char *path, const char *text)
{
	int fd = openat(dir_fd, path, O_RDONLY);
	char found[256] = "";

	if (!text) {
		assert_int_equal(fd, -1);
		return;
	}
	assert_true(fd >= 0);
	assert_true(read(fd, found, sizeof(found) - 1) >= 0);
	assert_int_equal(close(fd), 0);
	assert_string_equal(found, text);
}

unsigned int copies_count(int dir_fd, const char *path)
{
	DIR *folder = fdopendir(openat(dir_fd, path, O_RDONLY | O_DIRECTORY));
	unsigned int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count - 2;
}

struct vbd_copy_item copies_item(const char *path, uint64_t size_bytes)
{
	return (struct vbd_copy_item){
		.entry = {.type = VBD_COPY_FILE,
			.mode = 0640,
			.mtime_ns = 1500000000123456789,
			.size_bytes = size_bytes,
			.path = (const uint8_t *)path,
			.path_bytes = (uint32_t)strlen(path)},
	};
}

struct vbd_copy_item copies_directory(const char *path)
{
	struct vbd_copy_item item = copies_item(path, 0);

	item.entry.type = VBD_COPY_DIRECTORY;
	return item;
}

struct vbd_copy_item copies_source(int dir_fd, const char *path)
{
	struct vbd_copy_item item;
	struct stat about;

	assert_int_equal(fstatat(dir_fd, path, &about, 0), 0);
	item = copies_item(path, (uint64_t)about.st_size);
	item.entry.mtime_ns = vbd_copy_mtime_ns(&about);
	return item;
}

struct vbd_copy_slot_job *copies_job(const struct vbd_copy_root *root, struct vbd_copy_item *item,
	uint64_t offset, void *bytes, size_t len)
{
	struct vbd_copy_slot_job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	job->root = root;
	job->items[0] = item;
	job->count = 1;
	job->bytes = bytes;
	job->pieces[0] = (struct vbd_copy_piece){
		.offset_bytes = offset,
		.length_bytes = (uint32_t)len,
		.crc32c = vbd_crc32c_add(0, bytes, len),
	};
	return job;
}

enum vbd_copy_fault copies_write(
	const struct vbd_copy_root *root, struct vbd_copy_item *item, uint64_t offset, char *text)
{
	struct vbd_copy_slot_job *job = copies_job(root, item, offset, text, strlen(text));
	enum vbd_copy_fault fault;

	vbd_copy_write(job);
	fault = job->faults[0];
	free(job);
	return fault;
}

enum vbd_copy_fault copies_read(const struct vbd_copy_root *root, struct vbd_copy_item *item,
	uint64_t offset, char *text, size_t len)
{
	struct vbd_copy_slot_job *job;
	enum vbd_copy_fault fault;

	memset(text, 'x', len);
	text[len] = '\0';
	job = copies_job(root, item, offset, text, len);
	vbd_copy_read(job);
	fault = job->faults[0];
	assert_int_equal(job->pieces[0].crc32c, vbd_crc32c_add(0, text, len));
	free(job);
	return fault;
}

enum vbd_copy_fault copies_judge(const struct vbd_copy_root *root, struct vbd_copy_item *item)
{
	vbd_copy_pick_wanted(root, item, 1);
	return item->fault;
}

enum vbd_copy_fault copies_place(const struct vbd_copy_root *root, struct vbd_copy_item *item)
{
	vbd_copy_place(root, &item, 1);
	assert_int_equal(item->placed, item->fault == VBD_COPY_FAULT_OK);
	return item->fault;
}

void copies_discard(const struct vbd_copy_root *root, struct vbd_copy_item *item)
{
	vbd_copy_discard(root, &item, 1);
}

enum vbd_copy_fault copies_receive(
	const struct vbd_copy_root *root, struct vbd_copy_item *item, const char *text)
{
	char bytes[256];

	(void)snprintf(bytes, sizeof(bytes), "%s", text);
	if (copies_judge(root, item) != VBD_COPY_FAULT_OK)
		return item->fault;
	item->fault = copies_write(root, item, 0, bytes);
	return item->fault ? item->fault : copies_place(root, item);
}

int copies_in_child(int (*run)(struct copies *c), struct copies *c)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(run(c));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}
