/* SPDX-License-Identifier: Apache-2.0 */
/* An export in a folder of its own, and the files in it, for the tests of the files of a copy. */
#ifndef VBD_TESTS_UNIT_COPIES_H
#define VBD_TESTS_UNIT_COPIES_H

#include "daemon/copies/copy_files.h"
#include "tests/unit/scratch.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct copies {
	char folder[SCRATCH_PATH_BYTES]; /* has `export` and `outside` */
	int above_fd, outside_fd;
	struct vbd_copy_root root; /* of path "." */
};

/* Exit statuses of copies_in_child(). */
#define COPIES_SKIPPED 200
#define COPIES_NOBODY  65534

int copies_setup(void **state);
int copies_teardown(void **state);

#define COPIES_TEST(name) TEST_WITH(name, struct copies *c, copies_setup, copies_teardown)

/** copies_put - make a file of the text */
void copies_put(int dir_fd, const char *path, const char *text);

/** copies_expect - the file has the text; @text: NULL: there is no such file */
void copies_expect(int dir_fd, const char *path, const char *text);

/** copies_count - the number of names in a directory */
unsigned int copies_count(int dir_fd, const char *path);

/** copies_item, copies_directory, copies_source - an item of a file, of a directory, and of a file
 * that is there; @path stays the caller's */
struct vbd_copy_item copies_item(const char *path, uint64_t size_bytes);
struct vbd_copy_item copies_directory(const char *path);
struct vbd_copy_item copies_source(int dir_fd, const char *path);

/** copies_job - a job of one piece; the caller owns item and bytes, and frees the job */
struct vbd_copy_slot_job *copies_job(const struct vbd_copy_root *root, struct vbd_copy_item *item,
	uint64_t offset, void *bytes, size_t len);

/** copies_write - write a piece */
enum vbd_copy_fault copies_write(
	const struct vbd_copy_root *root, struct vbd_copy_item *item, uint64_t offset, char *text);

/** copies_read - read a piece into @text, which has room for a NUL behind it */
enum vbd_copy_fault copies_read(const struct vbd_copy_root *root, struct vbd_copy_item *item,
	uint64_t offset, char *text, size_t len);

enum vbd_copy_fault copies_judge(const struct vbd_copy_root *root, struct vbd_copy_item *item);
enum vbd_copy_fault copies_place(const struct vbd_copy_root *root, struct vbd_copy_item *item);
void copies_discard(const struct vbd_copy_root *root, struct vbd_copy_item *item);

/** copies_receive - receive a file: all steps, up to the first fault */
enum vbd_copy_fault copies_receive(
	const struct vbd_copy_root *root, struct vbd_copy_item *item, const char *text);

/** copies_in_child - the result of @run in a child; 0 to 255 */
int copies_in_child(int (*run)(struct copies *c), struct copies *c);

#endif
