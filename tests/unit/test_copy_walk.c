/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the source of a copy, and lists of the files in an export. */
#include "tests/unit/copies.h"

static const char *fault_name(enum vbd_copy_fault fault)
{
#define NAME(sym, name, text) name,
	static const char *const names[] = {VBD_COPY_FAULT_MAP(NAME)};
#undef NAME

	return names[fault];
}

/* Begin a walk of @path. */
static enum vbd_copy_fault begin(struct copies *c, const char *path, struct vbd_copy_walk **walk)
{
	c->root.path = path;
	return vbd_copy_walk_begin(&c->root, walk);
}

/* Walk over @path in pages: the paths and faults, a line each. */
static const char *walk_of(struct copies *c, const char *path)
{
	static char text[8192];
	struct vbd_copy_walk *walk;
	enum vbd_copy_fault fault = begin(c, path, &walk);
	size_t len = 0;
	uint32_t count;

	text[0] = '\0';
	if (fault != VBD_COPY_FAULT_OK) {
		assert_null(walk);
		return fault_name(fault);
	}
	do {
		struct vbd_copy_item items[3] = {{.placed = false}};

		count = vbd_copy_walk_next(walk, items, 3);
		for (uint32_t i = 0; i < count; i++) {
			const char *name = (const char *)items[i].entry.path;

			assert_int_equal(strlen(name), items[i].entry.path_bytes);
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", name,
				items[i].fault				    ? ":"
				: !*name				    ? "."
				: items[i].entry.type == VBD_COPY_DIRECTORY ? "/"
									    : "");
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
				items[i].fault ? fault_name(items[i].fault) : "");
		}
		vbd_copy_items_fini(items, count);
	} while (count > 0);
	vbd_copy_walk_end(walk);
	return text;
}

static void make_tree(const struct copies *c)
{
	assert_int_equal(mkdirat(c->root.dir_fd, "a", 0755), 0);
	assert_int_equal(mkdirat(c->root.dir_fd, "a/b", 0755), 0);
	assert_int_equal(mkdirat(c->root.dir_fd, "a/empty", 0755), 0);
	copies_put(c->root.dir_fd, "a/b/2", "2");
	copies_put(c->root.dir_fd, "a/b/1", "1");
	copies_put(c->root.dir_fd, "a/c", "c");
	copies_put(c->root.dir_fd, "a/B", "B");
	copies_put(c->root.dir_fd, "z", "z");
}

COPIES_TEST(test_copy_walk__a_directory_comes_before_its_content_and_names_are_sorted)
{
	make_tree(c);
	assert_string_equal(walk_of(c, "a"), ". B b/ b/1 b/2 c empty/ ");
	assert_string_equal(walk_of(c, "./a//"), ". B b/ b/1 b/2 c empty/ ");
	assert_string_equal(walk_of(c, "."), ". a/ a/B a/b/ a/b/1 a/b/2 a/c a/empty/ z ");
	assert_false(c->root.itself);
}

COPIES_TEST(test_copy_walk__a_file_is_one_entry_with_its_name)
{
	make_tree(c);
	assert_string_equal(walk_of(c, "a/b/1"), "1 ");
	assert_true(c->root.itself);
	assert_string_equal(walk_of(c, "z"), "z ");
	assert_string_equal(walk_of(c, "z/"), "not_directory");
}

COPIES_TEST(test_copy_walk__a_source_that_can_not_be_copied_is_refused)
{
	make_tree(c);
	assert_int_equal(symlinkat("a", c->root.dir_fd, "link"), 0);
	assert_int_equal(mkfifoat(c->root.dir_fd, "fifo", 0644), 0);
	assert_string_equal(walk_of(c, "none"), "not_found");
	assert_string_equal(walk_of(c, "../outside"), "outside_export");
	assert_string_equal(walk_of(c, "a/../a"), "outside_export");
	assert_string_equal(walk_of(c, c->folder), "outside_export");
	assert_string_equal(walk_of(c, "z/x"), "not_directory");
	assert_string_equal(walk_of(c, "link"), "not_regular");
	assert_string_equal(walk_of(c, "link/b"), "not_regular");
	assert_string_equal(walk_of(c, "fifo"), "not_regular");
	c->root.options = 0;
	assert_string_equal(walk_of(c, "a"), "is_directory");
	assert_string_equal(walk_of(c, "a/c"), "c ");
}

COPIES_TEST(test_copy_walk__what_is_no_file_has_a_fault_and_the_others_go_on)
{
	int fd = c->root.dir_fd;

	make_tree(c);
	assert_int_equal(symlinkat("/etc", fd, "a/b/0"), 0);
	assert_int_equal(symlinkat("1", fd, "a/b/3"), 0);
	assert_int_equal(mkfifoat(fd, "a/b/1f", 0644), 0);
	if (geteuid() == 0 && mknodat(fd, "a/b/null", S_IFCHR | 0666, (1 << 8) | 3) == 0)
		assert_string_equal(walk_of(c, "a/b"),
			". 0:not_regular 1 1f:not_regular 2 3:not_regular null:not_regular ");
	else
		assert_string_equal(
			walk_of(c, "a/b"), ". 0:not_regular 1 1f:not_regular 2 3:not_regular ");
}

COPIES_TEST(test_copy_walk__entries_have_permissions_size_and_time)
{
	static const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT}, {.tv_sec = -1, .tv_nsec = 5}};
	struct vbd_copy_item items[2] = {{.placed = false}};
	struct vbd_copy_walk *walk;

	copies_put(c->root.dir_fd, "f", "12345");
	assert_int_equal(fchmodat(c->root.dir_fd, "f", 07751, 0), 0);
	assert_int_equal(utimensat(c->root.dir_fd, "f", times, 0), 0);
	assert_int_equal(begin(c, ".", &walk), VBD_COPY_FAULT_OK);
	assert_int_equal(vbd_copy_walk_next(walk, items, 2), 2);
	assert_int_equal(items[0].entry.type, VBD_COPY_DIRECTORY);
	assert_int_equal(items[0].entry.size_bytes, 0);
	assert_int_equal(items[1].entry.type, VBD_COPY_FILE);
	assert_int_equal(items[1].entry.mode, 0751);
	assert_int_equal(items[1].entry.size_bytes, 5);
	assert_int_equal(items[1].entry.mtime_ns, -999999995);
	vbd_copy_items_fini(items, 2);
	vbd_copy_walk_end(walk);
}

COPIES_TEST(test_copy_walk__names_are_bytes)
{
	copies_put(c->root.dir_fd, "\xff\xfe", "");
	copies_put(c->root.dir_fd, "new\nline", "");
	copies_put(c->root.dir_fd, "\xc3\xa4", "");
	assert_string_equal(walk_of(c, "."), ". new\nline \xc3\xa4 \xff\xfe ");
}

COPIES_TEST(test_copy_walk__a_thousand_files_come_in_pages)
{
	struct vbd_copy_item items[64];
	struct vbd_copy_walk *walk;
	uint32_t all = 0, count;
	char name[16];

	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "%03d", i);
		copies_put(c->root.dir_fd, name, "");
	}
	assert_int_equal(begin(c, ".", &walk), VBD_COPY_FAULT_OK);
	do {
		memset(items, 0, sizeof(items));
		count = vbd_copy_walk_next(walk, items, 64);
		for (uint32_t i = 0; i < count; i++, all++) {
			(void)snprintf(name, sizeof(name), "%03d", (int)all - 1);
			assert_string_equal(items[i].entry.path, all == 0 ? "" : name);
		}
		vbd_copy_items_fini(items, count);
	} while (count > 0);
	assert_int_equal(all, 1001);
	assert_int_equal(vbd_copy_walk_next(walk, items, 64), 0);
	vbd_copy_walk_end(walk);
}

/* Make directories below each other; returns the lowest. */
static int make_deep(int dir_fd, const char *first, const char *name, int depth)
{
	int fd = dup(dir_fd);

	for (int i = 0; i < depth; i++) {
		int below;

		assert_int_equal(mkdirat(fd, i == 0 ? first : name, 0755), 0);
		below = openat(fd, i == 0 ? first : name, O_PATH | O_DIRECTORY);
		assert_true(below >= 0);
		assert_int_equal(close(fd), 0);
		fd = below;
	}
	return fd;
}

COPIES_TEST(test_copy_walk__no_depth_takes_descriptors)
{
	struct vbd_copy_item items[400] = {{.placed = false}};
	unsigned int before = unit_descriptors();
	struct vbd_copy_walk *walk;

	assert_int_equal(close(make_deep(c->root.dir_fd, "d", "d", 300)), 0);
	assert_int_equal(begin(c, ".", &walk), VBD_COPY_FAULT_OK);
	assert_int_equal(vbd_copy_walk_next(walk, items, 300), 300);
	assert_int_equal(unit_descriptors(), before);
	assert_int_equal(items[299].fault, VBD_COPY_FAULT_OK);
	vbd_copy_items_fini(items, 300);
	vbd_copy_walk_end(walk);
}

COPIES_TEST(test_copy_walk__a_path_that_is_too_long_has_that_of_its_directory)
{
	struct vbd_copy_item items[64] = {{.placed = false}};
	char name[201] = "";
	struct vbd_copy_walk *walk;
	uint32_t count;
	int fd;

	memset(name, 'n', 200);
	fd = make_deep(c->root.dir_fd, "a", name, 15);
	assert_int_equal(close(make_deep(c->root.dir_fd, "b", name, 15)), 0);
	assert_int_equal(renameat(c->root.dir_fd, "b", fd, "b"), 0);
	assert_int_equal(begin(c, ".", &walk), VBD_COPY_FAULT_OK);
	count = vbd_copy_walk_next(walk, items, 64);
	assert_in_range(count, 16, 31);
	assert_int_equal(items[count - 2].fault, VBD_COPY_FAULT_OK);
	assert_int_equal(items[count - 1].fault, VBD_COPY_FAULT_NAME_TOO_LONG);
	assert_string_equal(items[count - 1].entry.path, items[count - 2].entry.path);
	vbd_copy_items_fini(items, count);
	vbd_copy_walk_end(walk);
	assert_int_equal(renameat(fd, "b", c->root.dir_fd, "b"), 0);
	assert_int_equal(close(fd), 0);
}

COPIES_TEST(test_copy_walk__limits_of_the_export_are_faults)
{
	make_tree(c);
	copies_put(c->root.dir_fd, "a/b/1", "123");
	c->root.max_bytes = 2;
	c->root.max_files = 4;
	assert_string_equal(walk_of(c, "a/b"), ". 1:too_large 2 ");
	assert_string_equal(walk_of(c, "a"), ". B b/ b/1:too_large b/2:too_many_files ");
}

COPIES_TEST(test_copy_walk__incomplete_files_are_left_out)
{
	copies_put(c->root.dir_fd, "f.verbsd-0123456789abcde", "");
	copies_put(c->root.dir_fd, ".verbsd-0123456789abcde", "");
	copies_put(c->root.dir_fd, "f.verbsd-0123456789abcdx", "");
	copies_put(c->root.dir_fd, "f.verbsd-123456789abcde", "");
	assert_string_equal(walk_of(c, "."),
		". .verbsd-0123456789abcde f.verbsd-0123456789abcdx f.verbsd-123456789abcde ");
}

COPIES_TEST(test_copy_walk__files_and_directories_may_vanish_meanwhile)
{
	struct vbd_copy_item items[8] = {{.placed = false}};
	struct vbd_copy_walk *walk;

	make_tree(c);
	assert_int_equal(begin(c, ".", &walk), VBD_COPY_FAULT_OK);
	assert_int_equal(vbd_copy_walk_next(walk, items, 5), 5); /* to a/b/1 */
	assert_int_equal(renameat(c->root.dir_fd, "a", c->above_fd, "gone"), 0);
	vbd_copy_items_fini(items, 5);
	memset(items, 0, sizeof(items));
	assert_int_equal(vbd_copy_walk_next(walk, items, 8), 4);
	for (int i = 0; i < 3; i++)
		assert_int_equal(items[i].fault, VBD_COPY_FAULT_NOT_FOUND);
	assert_string_equal(items[3].entry.path, "z");
	assert_int_equal(items[3].fault, VBD_COPY_FAULT_OK);
	vbd_copy_items_fini(items, 4);
	vbd_copy_walk_end(walk);
}

COPIES_TEST(test_copy_walk__a_walk_may_end_anywhere)
{
	struct vbd_copy_item items[5] = {{.placed = false}};
	struct vbd_copy_walk *walk;

	make_tree(c);
	assert_int_equal(begin(c, ".", &walk), VBD_COPY_FAULT_OK);
	assert_int_equal(vbd_copy_walk_next(walk, items, 5), 5);
	vbd_copy_items_fini(items, 5);
	vbd_copy_walk_end(walk);
	vbd_copy_walk_end(NULL);
}

/* Root may read everything: another user walks. */
static int walk_denied(struct copies *c)
{
	if (geteuid() == 0 && setresuid(COPIES_NOBODY, COPIES_NOBODY, COPIES_NOBODY) != 0)
		return COPIES_SKIPPED;
	return strcmp(walk_of(c, "a"), ". B b:permission_denied c empty/ ") == 0 ? 0 : 1;
}

COPIES_TEST(test_copy_walk__a_directory_without_permission_has_a_fault)
{
	make_tree(c);
	assert_int_equal(fchmodat(c->root.dir_fd, "a/b", 0, 0), 0);
	assert_int_equal(copies_in_child(walk_denied, c), 0);
	assert_int_equal(fchmodat(c->root.dir_fd, "a/b", 0755, 0), 0);
}

COPIES_TEST(test_copy_list__files_come_in_pages_by_name)
{
	struct vbd_copy_listed items[3];
	enum vbd_copy_fault fault;
	bool more;

	make_tree(c);
	assert_int_equal(symlinkat("c", c->root.dir_fd, "a/d"), 0);
	copies_put(c->root.dir_fd, "a/c.verbsd-0123456789abcde", "");
	c->root.path = "a/";
	assert_int_equal(vbd_copy_list(&c->root, "", items, 3, &more, &fault), 3);
	assert_int_equal(fault, VBD_COPY_FAULT_OK);
	assert_true(more);
	assert_string_equal(items[0].name, "B");
	assert_int_equal(items[0].entry.size_bytes, 1);
	assert_string_equal(items[1].name, "b");
	assert_int_equal(items[1].entry.type, VBD_COPY_DIRECTORY);
	assert_string_equal(items[2].name, "c");
	assert_false(items[2].other);
	assert_int_equal(vbd_copy_list(&c->root, "c", items, 3, &more, &fault), 2);
	assert_false(more);
	assert_string_equal(items[0].name, "d");
	assert_true(items[0].other);
	assert_string_equal(items[1].name, "empty");
	assert_int_equal(vbd_copy_list(&c->root, "empty", items, 3, &more, &fault), 0);
	assert_int_equal(vbd_copy_list(&c->root, "d", items, 1, &more, &fault), 1);
	assert_false(more);
}

COPIES_TEST(test_copy_list__what_is_no_directory_of_the_export_has_a_fault)
{
	static const struct {
		const char *path;
		enum vbd_copy_fault fault;
	} rows[] = {
		{"..", VBD_COPY_FAULT_OUTSIDE},
		{"/", VBD_COPY_FAULT_OUTSIDE},
		{"none", VBD_COPY_FAULT_NOT_FOUND},
		{"z", VBD_COPY_FAULT_NOT_DIRECTORY},
	};
	struct vbd_copy_listed item;

	make_tree(c);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		enum vbd_copy_fault fault = VBD_COPY_FAULT_OK;
		bool more = true;

		c->root.path = rows[i].path;
		assert_int_equal(vbd_copy_list(&c->root, "", &item, 1, &more, &fault), 0);
		assert_int_equal(fault, rows[i].fault);
		assert_false(more);
	}
}
