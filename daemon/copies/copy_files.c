/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy_files.h"

#include "daemon/memory/checksum.h"

#include <fcntl.h>
#include <unistd.h>

#define NS_PER_S    1000000000
#define SAFE_FLAGS  (O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)
#define PERMISSIONS 0777 /* without setuid, setgid and sticky */

/* Where an item is: a name in a directory beneath the export. */
struct spot {
	char path[PATH_MAX];
	const char *name; /* the end of `path` */
	int dir_fd;	  /* O_PATH */
	char part[NAME_MAX + 1];
};

static enum vbd_copy_fault join_item(const struct vbd_copy_root *root,
	const struct vbd_copy_entry *entry, char ret_path[PATH_MAX])
{
	return vbd_copy_join(
		root->path, entry->path, root->itself ? 0 : entry->path_bytes, ret_path);
}

static mode_t directory_mode(const struct vbd_copy_root *root)
{
	return PERMISSIONS & ~root->umask;
}

/* @make: make the directory if it is missing. With OK the caller closes `dir_fd`. */
static enum vbd_copy_fault open_spot(const struct vbd_copy_root *root,
	const struct vbd_copy_entry *entry, bool make, struct spot *ret_spot)
{
	enum vbd_copy_fault fault = join_item(root, entry, ret_spot->path);
	const char *dir = ret_spot->path;
	char *slash;

	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	if (strcmp(ret_spot->path, ".") == 0)
		return VBD_COPY_FAULT_IS_DIRECTORY;
	slash = strrchr(ret_spot->path, '/');
	ret_spot->name = slash ? slash + 1 : ret_spot->path;
	if (slash)
		*slash = '\0';
	else
		dir = ".";
	vbd_copy_part_name(ret_spot->name, root->part_suffix, ret_spot->part);
	if (make)
		return vbd_copy_make_dirs(
			root->dir_fd, dir, directory_mode(root), &ret_spot->dir_fd);
	return vbd_copy_open(root->dir_fd, dir, O_PATH | O_DIRECTORY, &ret_spot->dir_fd);
}

enum vbd_copy_fault vbd_copy_aim(struct vbd_copy_root *root, const struct vbd_copy_entry *first)
{
	size_t len = strlen(root->path);
	char path[PATH_MAX];
	enum vbd_copy_fault fault = vbd_copy_join(root->path, NULL, 0, path);
	int fd;

	root->itself = false;
	if (fault != VBD_COPY_FAULT_OK || first->type != VBD_COPY_FILE || len == 0 ||
		root->path[len - 1] == '/')
		return fault;
	root->itself = vbd_copy_open(root->dir_fd, path, O_PATH | O_DIRECTORY, &fd);
	if (!root->itself)
		(void)close(fd);
	return VBD_COPY_FAULT_OK;
}

static enum vbd_copy_fault judge_directory(
	const struct vbd_copy_root *root, const struct vbd_copy_entry *entry)
{
	char path[PATH_MAX];
	enum vbd_copy_fault fault = join_item(root, entry, path);
	int fd;

	if (fault == VBD_COPY_FAULT_OK)
		fault = vbd_copy_make_dirs(root->dir_fd, path, directory_mode(root), &fd);
	if (fault == VBD_COPY_FAULT_OK)
		(void)close(fd);
	return fault;
}

/* Decide about a regular file that is there. */
static enum vbd_copy_fault compare(enum vbd_copy_overwrite overwrite,
	const struct vbd_copy_entry *entry, const struct stat *about)
{
	int64_t mtime_ns = vbd_copy_mtime_ns(about);
	bool same = entry->mtime_ns == mtime_ns && entry->size_bytes == (uint64_t)about->st_size;

	if (overwrite == VBD_COPY_OVERWRITE_ALWAYS)
		return VBD_COPY_FAULT_OK;
	if (overwrite == VBD_COPY_OVERWRITE_NEVER)
		return VBD_COPY_FAULT_EXISTS;
	if (same)
		return VBD_COPY_FAULT_SAME;
	if (overwrite == VBD_COPY_OVERWRITE_IF_NEWER && entry->mtime_ns <= mtime_ns)
		return VBD_COPY_FAULT_EXISTS;
	return VBD_COPY_FAULT_OK;
}

static enum vbd_copy_fault judge_file(
	const struct vbd_copy_root *root, const struct vbd_copy_entry *entry)
{
	struct spot spot;
	struct stat about;
	enum vbd_copy_fault fault;

	if (entry->size_bytes > root->max_bytes)
		return VBD_COPY_FAULT_TOO_LARGE;
	fault = open_spot(root, entry, true, &spot);
	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	if (fstatat(spot.dir_fd, spot.name, &about, AT_SYMLINK_NOFOLLOW) != 0)
		fault = errno == ENOENT ? VBD_COPY_FAULT_OK : vbd_copy_fault_of(errno);
	else if (S_ISREG(about.st_mode))
		fault = compare(root->overwrite, entry, &about);
	else
		fault = S_ISDIR(about.st_mode) ? VBD_COPY_FAULT_IS_DIRECTORY
					       : VBD_COPY_FAULT_NOT_REGULAR;
	(void)close(spot.dir_fd);
	return fault;
}

void vbd_copy_pick_wanted(
	const struct vbd_copy_root *root, struct vbd_copy_item *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct vbd_copy_entry *entry = &items[i].entry;

		if (items[i].fault == VBD_COPY_FAULT_OK)
			items[i].fault = entry->type == VBD_COPY_DIRECTORY
						 ? judge_directory(root, entry)
						 : judge_file(root, entry);
	}
}

/* Whether the file is still the one that the manifest tells of. */
static enum vbd_copy_fault check_source(int fd, const struct vbd_copy_entry *entry)
{
	struct stat about;

	if (fstat(fd, &about) != 0)
		return vbd_copy_fault_of(errno);
	if (!S_ISREG(about.st_mode))
		return VBD_COPY_FAULT_NOT_REGULAR;
	return entry->size_bytes == (uint64_t)about.st_size &&
			       entry->mtime_ns == vbd_copy_mtime_ns(&about)
		       ? VBD_COPY_FAULT_OK
		       : VBD_COPY_FAULT_CHANGED;
}

/* Read or write all bytes of a piece. CHANGED if the file ends before. */
static enum vbd_copy_fault move_bytes(
	int fd, bool writes, uint8_t *bytes, const struct vbd_copy_piece *piece)
{
	for (uint32_t done = 0; done < piece->length_bytes;) {
		off_t offset = (off_t)(piece->offset_bytes + done);
		size_t left = piece->length_bytes - done;
		ssize_t n = writes ? pwrite(fd, bytes + done, left, offset)
				   : pread(fd, bytes + done, left, offset);

		if (n == 0)
			return VBD_COPY_FAULT_CHANGED;
		if (n < 0 && errno != EINTR)
			return vbd_copy_fault_of(errno);
		done += n > 0 ? (uint32_t)n : 0;
	}
	return VBD_COPY_FAULT_OK;
}

static enum vbd_copy_fault read_piece(const struct vbd_copy_root *root,
	const struct vbd_copy_entry *entry, uint8_t *bytes, const struct vbd_copy_piece *piece)
{
	char path[PATH_MAX];
	enum vbd_copy_fault fault = join_item(root, entry, path);
	int fd;

	if (fault == VBD_COPY_FAULT_OK)
		fault = vbd_copy_open(root->dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd);
	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	fault = check_source(fd, entry);
	if (fault == VBD_COPY_FAULT_OK)
		fault = move_bytes(fd, false, bytes, piece);
	if (fault == VBD_COPY_FAULT_OK)
		fault = check_source(fd, entry);
	(void)close(fd);
	return fault;
}

void vbd_copy_read(struct vbd_copy_slot_job *job)
{
	uint8_t *bytes = job->bytes;

	for (uint32_t i = 0; i < job->count; i++) {
		struct vbd_copy_piece *piece = &job->pieces[i];

		job->faults[i] = read_piece(job->root, &job->items[i]->entry, bytes, piece);
		/* The peer must not see what the memory had before. */
		if (job->faults[i] != VBD_COPY_FAULT_OK)
			memset(bytes, 0, piece->length_bytes);
		piece->crc32c = vbd_crc32c_add(0, bytes, piece->length_bytes);
		bytes += piece->length_bytes;
	}
}

/* The suffix can't be guessed, so the file is this copy's own; one that has another name too might
 * not be. */
static enum vbd_copy_fault open_part(const struct spot *spot, int flags, int *ret_fd)
{
	int fd = openat(spot->dir_fd, spot->part, O_WRONLY | SAFE_FLAGS | flags, 0600);
	struct stat about;

	if (fd < 0)
		return vbd_copy_fault_of(errno);
	if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink > 1) {
		(void)close(fd);
		return VBD_COPY_FAULT_NOT_REGULAR;
	}
	*ret_fd = fd;
	return VBD_COPY_FAULT_OK;
}

static enum vbd_copy_fault write_piece(const struct vbd_copy_root *root,
	const struct vbd_copy_entry *entry, uint8_t *bytes, const struct vbd_copy_piece *piece)
{
	struct spot spot;
	enum vbd_copy_fault fault;
	int fd;

	if (piece->offset_bytes > entry->size_bytes ||
		piece->length_bytes > entry->size_bytes - piece->offset_bytes)
		return VBD_COPY_FAULT_PROTOCOL;
	if (vbd_crc32c_add(0, bytes, piece->length_bytes) != piece->crc32c)
		return VBD_COPY_FAULT_CORRUPT;
	fault = open_spot(root, entry, false, &spot);
	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	fault = open_part(&spot, O_CREAT, &fd);
	(void)close(spot.dir_fd);
	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	fault = move_bytes(fd, true, bytes, piece);
	/* NFS tells only now that there is no room. */
	if (close(fd) != 0 && fault == VBD_COPY_FAULT_OK)
		fault = vbd_copy_fault_of(errno);
	return fault;
}

void vbd_copy_write(struct vbd_copy_slot_job *job)
{
	uint8_t *bytes = job->bytes;

	for (uint32_t i = 0; i < job->count; i++) {
		job->faults[i] =
			write_piece(job->root, &job->items[i]->entry, bytes, &job->pieces[i]);
		bytes += job->pieces[i].length_bytes;
	}
}

/* Make the incomplete file ready for its name. */
static enum vbd_copy_fault complete(
	const struct vbd_copy_root *root, const struct vbd_copy_entry *entry, int fd)
{
	mode_t mode = root->options & VBD_COPY_PRESERVE_MODE ? entry->mode & PERMISSIONS : 0666;
	int64_t s = entry->mtime_ns / NS_PER_S, ns = entry->mtime_ns % NS_PER_S;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
		{.tv_sec = ns < 0 ? s - 1 : s, .tv_nsec = ns < 0 ? ns + NS_PER_S : ns}};
	struct stat about;

	if (fstat(fd, &about) != 0)
		return vbd_copy_fault_of(errno);
	if ((uint64_t)about.st_size != entry->size_bytes)
		return VBD_COPY_FAULT_PROTOCOL;
	if (fchmod(fd, mode & ~root->umask) != 0 ||
		((root->options & VBD_COPY_PRESERVE_MTIME) && futimens(fd, times) != 0) ||
		fsync(fd) != 0)
		return vbd_copy_fault_of(errno);
	return VBD_COPY_FAULT_OK;
}

static int rename_part(const struct spot *spot, enum vbd_copy_overwrite overwrite)
{
	int dir_fd = spot->dir_fd;
	unsigned int flags = overwrite == VBD_COPY_OVERWRITE_NEVER ? RENAME_NOREPLACE : 0;

	if (renameat2(dir_fd, spot->part, dir_fd, spot->name, flags) == 0)
		return 0;
	/* A file system that does not know RENAME_NOREPLACE, such as NFS, says EINVAL. */
	if (!flags || errno != EINVAL || linkat(dir_fd, spot->part, dir_fd, spot->name, 0) != 0)
		return -1;
	return unlinkat(dir_fd, spot->part, 0);
}

static enum vbd_copy_fault place_file(
	const struct vbd_copy_root *root, const struct vbd_copy_entry *entry)
{
	struct spot spot;
	enum vbd_copy_fault fault = open_spot(root, entry, false, &spot);
	int fd;

	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	fault = open_part(&spot, 0, &fd);
	if (fault == VBD_COPY_FAULT_OK) {
		fault = complete(root, entry, fd);
		(void)close(fd);
	}
	if (fault == VBD_COPY_FAULT_OK && rename_part(&spot, root->overwrite) != 0)
		fault = vbd_copy_fault_of(errno);
	(void)close(spot.dir_fd);
	return fault;
}

static enum vbd_copy_fault sync_directory_of(
	const struct vbd_copy_root *root, const struct vbd_copy_entry *entry)
{
	struct spot spot;
	enum vbd_copy_fault fault = open_spot(root, entry, false, &spot);

	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	fault = vbd_copy_sync_dir(spot.dir_fd);
	(void)close(spot.dir_fd);
	return fault;
}

static bool in_one_directory(const struct vbd_copy_entry *a, const struct vbd_copy_entry *b)
{
	const uint8_t *a_end = memrchr(a->path, '/', a->path_bytes);
	const uint8_t *b_end = memrchr(b->path, '/', b->path_bytes);

	if (!a_end || !b_end)
		return !a_end && !b_end;
	return a_end - a->path == b_end - b->path &&
	       memcmp(a->path, b->path, (size_t)(a_end - a->path)) == 0;
}

/* Place items that are in one directory, which is then synced for all. */
static void place_run(
	const struct vbd_copy_root *root, struct vbd_copy_item *const *items, uint32_t count)
{
	const struct vbd_copy_entry *placed = NULL; /* a file */
	enum vbd_copy_fault fault = VBD_COPY_FAULT_OK;

	for (uint32_t i = 0; i < count; i++) {
		struct vbd_copy_item *item = items[i];

		if (item->fault == VBD_COPY_FAULT_OK && item->entry.type == VBD_COPY_FILE) {
			item->fault = place_file(root, &item->entry);
			placed = item->fault == VBD_COPY_FAULT_OK ? &item->entry : placed;
		}
	}
	if (placed)
		fault = sync_directory_of(root, placed);
	for (uint32_t i = 0; i < count; i++) {
		if (items[i]->fault == VBD_COPY_FAULT_OK && items[i]->entry.type == VBD_COPY_FILE)
			items[i]->fault = fault;
		items[i]->placed = items[i]->fault == VBD_COPY_FAULT_OK;
	}
}

void vbd_copy_place(
	const struct vbd_copy_root *root, struct vbd_copy_item *const *items, uint32_t count)
{
	for (uint32_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count; to++) {
			if (!in_one_directory(&items[from]->entry, &items[to]->entry))
				break;
		}
		place_run(root, items + from, to - from);
	}
}

void vbd_copy_discard(
	const struct vbd_copy_root *root, struct vbd_copy_item *const *items, uint32_t count)
{
	struct spot spot;

	for (uint32_t i = 0; i < count; i++) {
		if (items[i]->entry.type == VBD_COPY_DIRECTORY ||
			open_spot(root, &items[i]->entry, false, &spot) != VBD_COPY_FAULT_OK)
			continue;
		(void)unlinkat(spot.dir_fd, spot.part, 0);
		(void)close(spot.dir_fd);
	}
}
