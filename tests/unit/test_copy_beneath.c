/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a copy stay beneath the export, and have names and modes that fit. */
#include "tests/unit/copies.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

COPIES_TEST(test_copy_beneath__no_path_leads_out)
{
	static const struct {
		const char *path, *entry;
	} rows[] = {{".", "../outside/x"}, {".", "/x"}, {".", "a/../../outside/x"}, {".", ".."},
		{"..", "outside/x"}, {"../outside", "x"}, {"/", "x"}, {"a/..", "x"}};
	char text[] = "1";

	assert_int_equal(mkdirat(c->root.dir_fd, "a", 0755), 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_copy_item item = copies_item(rows[i].entry, 1);
		struct vbd_copy_item directory = copies_directory(rows[i].entry);

		c->root.path = rows[i].path;
		assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_OUTSIDE);
		assert_int_equal(copies_judge(&c->root, &directory), VBD_COPY_FAULT_OUTSIDE);
		assert_int_equal(copies_write(&c->root, &item, 0, text), VBD_COPY_FAULT_OUTSIDE);
		item.fault = VBD_COPY_FAULT_OK;
		assert_int_equal(copies_place(&c->root, &item), VBD_COPY_FAULT_OUTSIDE);
		copies_discard(&c->root, &item);
		assert_int_equal(copies_read(&c->root, &item, 0, text, 1), VBD_COPY_FAULT_OUTSIDE);
	}
	assert_int_equal(copies_count(c->outside_fd, "."), 0);
	assert_int_equal(copies_count(c->root.dir_fd, "."), 1);
}

COPIES_TEST(test_copy_beneath__no_symlink_is_followed_or_replaced)
{
	struct vbd_copy_item item, target = copies_item("link", 1);
	char text[] = "1";

	assert_int_equal(symlinkat("../outside", c->root.dir_fd, "link"), 0);
	copies_put(c->outside_fd, "x", "secret");
	item = copies_item("link/x", 6);
	assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_NOT_REGULAR);
	assert_int_equal(copies_write(&c->root, &item, 0, text), VBD_COPY_FAULT_NOT_REGULAR);
	assert_int_equal(copies_read(&c->root, &item, 0, text, 1), VBD_COPY_FAULT_NOT_REGULAR);
	item = copies_directory("link/new/below");
	assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_NOT_REGULAR);
	assert_int_equal(copies_judge(&c->root, &target), VBD_COPY_FAULT_NOT_REGULAR);
	assert_int_equal(copies_read(&c->root, &target, 0, text, 1), VBD_COPY_FAULT_NOT_REGULAR);
	assert_int_equal(copies_count(c->outside_fd, "."), 1);
}

/* Swap the directory `d` of the export and the symlink `l` until told to stop. */
struct swapper {
	int dir_fd;
	atomic_bool stop;
};

static void *swap(void *arg)
{
	struct swapper *swapper = arg;

	while (!atomic_load(&swapper->stop))
		(void)renameat2(swapper->dir_fd, "d", swapper->dir_fd, "l", RENAME_EXCHANGE);
	return NULL;
}

COPIES_TEST(test_copy_beneath__a_symlink_that_is_swapped_in_meanwhile_leads_nowhere)
{
	struct swapper swapper = {.dir_fd = c->root.dir_fd};
	struct vbd_copy_item source;
	int received = 0, denied = 0;
	pthread_t thread;

	assert_int_equal(mkdirat(c->root.dir_fd, "d", 0755), 0);
	assert_int_equal(symlinkat("../outside", c->root.dir_fd, "l"), 0);
	copies_put(c->outside_fd, "f", "o");
	copies_put(c->root.dir_fd, "d/f", "i");
	source = copies_source(c->root.dir_fd, "d/f");
	assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
	UNIT_UNTIL (received >= 20 && denied >= 20) {
		struct vbd_copy_item item = copies_item("d/x", 1);
		char text[2];

		*(copies_receive(&c->root, &item, "1") ? &denied : &received) += 1;
		if (copies_read(&c->root, &source, 0, text, 1) == VBD_COPY_FAULT_OK)
			assert_string_equal(text, "i");
	}
	atomic_store(&swapper.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(copies_count(c->outside_fd, "."), 1);
}

static void make_socket(const struct copies *c, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
		c->root.dir_fd, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(close(fd), 0);
}

COPIES_TEST(test_copy_beneath__what_is_no_file_is_neither_read_nor_replaced)
{
	static const char *const names[] = {"fifo", "socket", "device"};
	bool has_device = geteuid() == 0 &&
			  mknodat(c->root.dir_fd, "device", S_IFCHR | 0666, (1 << 8) | 5) == 0;

	assert_int_equal(mkfifoat(c->root.dir_fd, "fifo", 0644), 0);
	make_socket(c, "socket");
	for (size_t i = 0; i < VBD_ARRAY_LEN(names) - !has_device; i++) {
		struct vbd_copy_item item = copies_item(names[i], 0);
		char text[2], part[64];

		assert_int_equal(
			copies_read(&c->root, &item, 0, text, 1), VBD_COPY_FAULT_NOT_REGULAR);
		assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_NOT_REGULAR);
		(void)snprintf(part, sizeof(part), "f%s", c->root.part_suffix);
		assert_int_equal(renameat(c->root.dir_fd, names[i], c->root.dir_fd, part), 0);
		item = copies_item("f", 0);
		assert_int_equal(copies_receive(&c->root, &item, ""), VBD_COPY_FAULT_NOT_REGULAR);
	}
}

COPIES_TEST(test_copy_beneath__a_link_to_another_file_is_not_written)
{
	struct vbd_copy_item item = copies_item("f", 1);
	int fd = c->root.dir_fd;

	copies_put(fd, "precious", "old");
	assert_int_equal(linkat(fd, "precious", fd, "f.verbsd-123456789abcdef", 0), 0);
	assert_int_equal(copies_receive(&c->root, &item, "1"), VBD_COPY_FAULT_NOT_REGULAR);
	copies_expect(fd, "precious", "old");
}

/* The mode bits of a file, or -1. */
static int mode_of(const struct copies *c, const char *path)
{
	struct stat about;

	return fstatat(c->root.dir_fd, path, &about, 0) == 0 ? (int)(about.st_mode & 07777) : -1;
}

COPIES_TEST(test_copy_beneath__modes_are_by_the_umask_and_never_setuid)
{
	mode_t before = umask(077);
	struct vbd_copy_item plain = copies_item("new/plain", 1), kept = copies_item("kept", 1);
	char text[] = "1";

	kept.entry.mode = 07775;
	assert_int_equal(copies_judge(&c->root, &plain), VBD_COPY_FAULT_OK);
	assert_int_equal(copies_write(&c->root, &plain, 0, text), VBD_COPY_FAULT_OK);
	assert_int_equal(mode_of(c, "new/plain.verbsd-123456789abcdef"), 0600);
	assert_int_equal(copies_place(&c->root, &plain), VBD_COPY_FAULT_OK);
	assert_int_equal(mode_of(c, "new"), 0755);
	assert_int_equal(mode_of(c, "new/plain"), 0644);
	c->root.options = VBD_COPY_PRESERVE_MODE;
	c->root.umask = 027;
	assert_int_equal(copies_receive(&c->root, &kept, "1"), VBD_COPY_FAULT_OK);
	assert_int_equal(mode_of(c, "kept"), 0750);
	(void)umask(before);
}

COPIES_TEST(test_copy_beneath__a_new_directory_has_the_setgid_bit_of_the_one_above)
{
	struct vbd_copy_item directory = copies_directory("g/below/lowest");

	assert_int_equal(mkdirat(c->root.dir_fd, "g", 0755), 0);
	assert_int_equal(fchmodat(c->root.dir_fd, "g", 02755, 0), 0);
	assert_int_equal(copies_judge(&c->root, &directory), VBD_COPY_FAULT_OK);
	assert_int_equal(mode_of(c, "g/below"), 02755);
	assert_int_equal(mode_of(c, "g/below/lowest"), 02755);
}

COPIES_TEST(test_copy_beneath__a_name_may_be_as_long_as_the_file_system_allows)
{
	char names[2][NAME_MAX + 2];
	struct vbd_copy_item items[2];

	for (int i = 0; i < 2; i++) {
		memset(names[i], 'n', NAME_MAX + 1);
		names[i][NAME_MAX - 1] = (char)('a' + i);
		names[i][NAME_MAX] = '\0';
		items[i] = copies_item(names[i], 1);
		assert_int_equal(copies_judge(&c->root, &items[i]), VBD_COPY_FAULT_OK);
	}
	for (int i = 0; i < 2; i++) {
		char text[] = {(char)('1' + i), '\0'};

		assert_int_equal(copies_write(&c->root, &items[i], 0, text), VBD_COPY_FAULT_OK);
	}
	assert_int_equal(copies_count(c->root.dir_fd, "."), 2);
	assert_int_equal(copies_place(&c->root, &items[0]), VBD_COPY_FAULT_OK);
	copies_discard(&c->root, &items[1]);
	copies_expect(c->root.dir_fd, names[0], "1");
	assert_int_equal(copies_count(c->root.dir_fd, "."), 1);
	names[0][NAME_MAX] = 'n';
	names[0][NAME_MAX + 1] = '\0';
	items[0] = copies_item(names[0], 1);
	assert_int_equal(copies_judge(&c->root, &items[0]), VBD_COPY_FAULT_NAME_TOO_LONG);
	items[0] = copies_directory(names[0]);
	assert_int_equal(copies_judge(&c->root, &items[0]), VBD_COPY_FAULT_NAME_TOO_LONG);
}

COPIES_TEST(test_copy_beneath__names_are_bytes)
{
	struct vbd_copy_item item = copies_item("\xff/\xfe\n", 1);

	assert_int_equal(copies_receive(&c->root, &item, "1"), VBD_COPY_FAULT_OK);
	copies_expect(c->root.dir_fd, "\xff/\xfe\n", "1");
}

COPIES_TEST(test_copy_beneath__a_file_and_a_directory_do_not_replace_each_other)
{
	struct vbd_copy_item item = copies_item("d", 1), below = copies_item("f/x", 1);
	struct vbd_copy_item directory = copies_directory("f"), export = copies_item("", 1);

	copies_put(c->root.dir_fd, "f", "old");
	assert_int_equal(mkdirat(c->root.dir_fd, "d", 0755), 0);
	assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_IS_DIRECTORY);
	assert_int_equal(copies_judge(&c->root, &export), VBD_COPY_FAULT_IS_DIRECTORY);
	assert_int_equal(copies_judge(&c->root, &below), VBD_COPY_FAULT_NOT_DIRECTORY);
	assert_int_equal(copies_judge(&c->root, &directory), VBD_COPY_FAULT_NOT_DIRECTORY);
	directory = copies_directory("d");
	assert_int_equal(copies_judge(&c->root, &directory), VBD_COPY_FAULT_OK);
	assert_int_equal(copies_place(&c->root, &directory), VBD_COPY_FAULT_OK);
	c->root.max_bytes = 1;
	item = copies_item("large", 2);
	assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_TOO_LARGE);
	assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_TOO_LARGE);
}

COPIES_TEST(test_copy_beneath__one_file_goes_where_cp_puts_it)
{
	static const struct {
		const char *path, *place;
	} rows[] = {{".", "name"}, {"d", "d/name"}, {"d/", "d/name"}, {"new", "new"},
		{"new2/", "new2/name"}, {"f", "f"}, {"a/b/c", "a/b/c"}, {"a/b/", "a/b/name"}};

	assert_int_equal(mkdirat(c->root.dir_fd, "d", 0755), 0);
	copies_put(c->root.dir_fd, "f", "old");
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_copy_item item = copies_item("name", 3);

		c->root.path = rows[i].path;
		assert_int_equal(vbd_copy_aim(&c->root, &item.entry), VBD_COPY_FAULT_OK);
		assert_int_equal(copies_receive(&c->root, &item, "new"), VBD_COPY_FAULT_OK);
		copies_expect(c->root.dir_fd, rows[i].place, "new");
	}
	{
		struct vbd_copy_item directory = copies_directory("");

		assert_int_equal(vbd_copy_aim(&c->root, &directory.entry), VBD_COPY_FAULT_OK);
		assert_false(c->root.itself);
		c->root.path = "../x";
		assert_int_equal(vbd_copy_aim(&c->root, &directory.entry), VBD_COPY_FAULT_OUTSIDE);
	}
}

/* A file system of 64 KiB in a name space of its own, which becomes read-only then. */
static int fill_file_system(struct copies *c)
{
	static char text[128 * 1024 + 1];
	struct vbd_copy_item item = copies_item("f", sizeof(text) - 1);
	struct vbd_copy_item small = copies_item("new/small", 1);
	char path[SCRATCH_PATH_BYTES + 16];

	(void)snprintf(path, sizeof(path), "%s/export", c->folder);
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", path, "tmpfs", 0, "size=64k") != 0)
		return COPIES_SKIPPED;
	memset(text, 't', sizeof(text) - 1);
	c->root.dir_fd = open(path, O_PATH | O_DIRECTORY);
	if (copies_write(&c->root, &item, 0, text) != VBD_COPY_FAULT_NO_SPACE)
		return 1;
	copies_discard(&c->root, &item);
	if (copies_count(c->root.dir_fd, ".") != 0 ||
		copies_receive(&c->root, &small, "1") != VBD_COPY_FAULT_OK)
		return 2;
	if (mount(NULL, path, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0)
		return COPIES_SKIPPED;
	small = copies_item("new/other", 1);
	if (copies_receive(&c->root, &small, "1") != VBD_COPY_FAULT_READ_ONLY)
		return 3;
	small = copies_directory("newer/below");
	return copies_judge(&c->root, &small) == VBD_COPY_FAULT_READ_ONLY ? 0 : 4;
}

COPIES_TEST(test_copy_beneath__a_full_or_read_only_file_system_is_a_fault)
{
	int status = copies_in_child(fill_file_system, c);

	if (status == COPIES_SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

static int exceed_limit(struct copies *c)
{
	struct vbd_copy_item item = copies_item("f", 4);
	struct rlimit limit = {.rlim_cur = 2, .rlim_max = 2};
	char text[] = "1234";

	(void)signal(SIGXFSZ, SIG_IGN); /* as verbsd does */
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return COPIES_SKIPPED;
	return (int)copies_write(&c->root, &item, 0, text);
}

COPIES_TEST(test_copy_beneath__a_limit_of_the_process_is_a_fault)
{
	assert_int_equal(copies_in_child(exceed_limit, c), VBD_COPY_FAULT_TOO_LARGE);
}

/* Root may do everything: another user tries. */
static int try_denied(struct copies *c)
{
	struct vbd_copy_item item = copies_source(c->root.dir_fd, "f"), below;
	struct vbd_copy_item inside = copies_item("d/x", 1), new = copies_item("e/x", 1);
	char text[] = "1";

	if (geteuid() == 0 && setresuid(COPIES_NOBODY, COPIES_NOBODY, COPIES_NOBODY) != 0)
		return COPIES_SKIPPED;
	below = copies_directory("d/e");
	return copies_read(&c->root, &item, 0, text, 1) == VBD_COPY_FAULT_PERMISSION &&
			       copies_judge(&c->root, &below) == VBD_COPY_FAULT_PERMISSION &&
			       copies_judge(&c->root, &new) == VBD_COPY_FAULT_PERMISSION &&
			       copies_receive(&c->root, &inside, "1") == VBD_COPY_FAULT_PERMISSION
		       ? 0
		       : 1;
}

COPIES_TEST(test_copy_beneath__what_the_user_may_not_do_is_a_fault)
{
	copies_put(c->root.dir_fd, "f", "1");
	assert_int_equal(fchmodat(c->root.dir_fd, "f", 0, 0), 0);
	assert_int_equal(mkdirat(c->root.dir_fd, "d", 0555), 0);
	assert_int_equal(fchmodat(c->above_fd, "export", 0555, 0), 0);
	assert_int_equal(copies_in_child(try_denied, c), 0);
	assert_int_equal(fchmodat(c->above_fd, "export", 0755, 0), 0);
}
