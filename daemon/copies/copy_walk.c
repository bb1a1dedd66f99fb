/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

/* A directory whose names a walk goes through. */
struct level {
	struct level *above; /* NULL: this is the source */
	struct dirent **names;
	int count, next;
	size_t path_bytes; /* of the directory, in `path` of the walk */
};

struct vbd_copy_walk {
	const struct vbd_copy_root *root;
	bool begun;
	bool over;
	uint64_t count;	     /* of entries */
	char path[PATH_MAX]; /* beneath the export, of the last entry */
	size_t base_bytes;   /* of `path`: not in paths of entries */
	struct level *level; /* the lowest; NULL at the end, and before the begin */
};

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
	const char *name = entry->d_name;

	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) <= NAME_MAX &&
	       !vbd_copy_is_part(name);
}

/* Read the names in a directory beneath the export, sorted; free_names() frees them. */
static enum vbd_copy_fault read_names(const struct vbd_copy_root *root, const char *path,
	struct dirent ***ret_names, int *ret_count)
{
	int fd, count;
	enum vbd_copy_fault fault = vbd_copy_open(root->dir_fd, path, O_PATH | O_DIRECTORY, &fd);

	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	count = scandirat(fd, ".", ret_names, is_shown, by_bytes);
	if (count < 0)
		fault = vbd_copy_fault_of(errno);
	else
		*ret_count = count;
	(void)close(fd);
	return fault;
}

static void free_names(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* Look at what is beneath the export, without opening it. */
static enum vbd_copy_fault look(
	const struct vbd_copy_root *root, const char *path, struct stat *ret_about)
{
	int fd;
	enum vbd_copy_fault fault = vbd_copy_open(root->dir_fd, path, O_PATH | O_NOFOLLOW, &fd);

	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	if (fstat(fd, ret_about) != 0)
		fault = vbd_copy_fault_of(errno);
	(void)close(fd);
	return fault;
}

/* Returns false for what is neither file nor directory. */
static bool describe(const struct stat *about, struct vbd_copy_entry *entry)
{
	bool is_file = S_ISREG(about->st_mode);

	entry->type = is_file ? VBD_COPY_FILE : VBD_COPY_DIRECTORY;
	entry->mode = about->st_mode & 0777;
	entry->mtime_ns = vbd_copy_mtime_ns(about);
	entry->size_bytes = is_file ? (uint64_t)about->st_size : 0;
	return is_file || S_ISDIR(about->st_mode);
}

void vbd_copy_items_fini(struct vbd_copy_item *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		free((void *)(uintptr_t)items[i].entry.path);
		items[i].entry.path = NULL;
	}
}

/* Look at the source, so that the walk can begin there. */
static enum vbd_copy_fault look_at_source(struct vbd_copy_root *root, struct vbd_copy_walk *walk)
{
	enum vbd_copy_fault fault = vbd_copy_join(root->path, NULL, 0, walk->path);
	size_t len = strlen(root->path);
	struct stat about;

	if (fault == VBD_COPY_FAULT_OK)
		fault = look(root, walk->path, &about);
	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	root->itself = !S_ISDIR(about.st_mode);
	if (!root->itself) {
		walk->base_bytes = strlen(walk->path);
		return root->options & VBD_COPY_RECURSIVE ? VBD_COPY_FAULT_OK
							  : VBD_COPY_FAULT_IS_DIRECTORY;
	}
	if (strrchr(walk->path, '/'))
		walk->base_bytes = (size_t)(strrchr(walk->path, '/') - walk->path);
	if (!S_ISREG(about.st_mode))
		return VBD_COPY_FAULT_NOT_REGULAR;
	return root->path[len - 1] == '/' ? VBD_COPY_FAULT_NOT_DIRECTORY : VBD_COPY_FAULT_OK;
}

enum vbd_copy_fault vbd_copy_walk_begin(struct vbd_copy_root *root, struct vbd_copy_walk **ret_walk)
{
	struct vbd_copy_walk *walk = calloc(1, sizeof(*walk));
	enum vbd_copy_fault fault;

	*ret_walk = NULL;
	if (!walk)
		return VBD_COPY_FAULT_NO_RESOURCES;
	walk->root = root;
	fault = look_at_source(root, walk);
	if (fault == VBD_COPY_FAULT_OK)
		*ret_walk = walk;
	else
		vbd_copy_walk_end(walk);
	return fault;
}

/* Go back to the directory above. */
static void leave(struct vbd_copy_walk *walk)
{
	struct level *level = walk->level;

	walk->level = level->above;
	free_names(level->names, level->count);
	free(level);
}

void vbd_copy_walk_end(struct vbd_copy_walk *walk)
{
	while (walk && walk->level)
		leave(walk);
	free(walk);
}

/* The next name in the present directory, "" for the source itself; NULL at the end. */
static const char *next_name(struct vbd_copy_walk *walk)
{
	if (!walk->begun) {
		walk->begun = true;
		return "";
	}
	while (walk->level && walk->level->next == walk->level->count)
		leave(walk);
	if (!walk->level)
		return NULL;
	walk->path[walk->level->path_bytes] = '\0';
	return walk->level->names[walk->level->next++]->d_name;
}

/* Read the names in the directory `path`, with which the walk goes on. */
static enum vbd_copy_fault enter(struct vbd_copy_walk *walk)
{
	struct level *level = calloc(1, sizeof(*level));
	enum vbd_copy_fault fault;

	if (!level)
		return VBD_COPY_FAULT_NO_RESOURCES;
	fault = read_names(walk->root, walk->path, &level->names, &level->count);
	if (fault != VBD_COPY_FAULT_OK) {
		free(level);
		return fault;
	}
	level->path_bytes = strlen(walk->path);
	level->above = walk->level;
	walk->level = level;
	return VBD_COPY_FAULT_OK;
}

static enum vbd_copy_fault visit(
	struct vbd_copy_walk *walk, const char *name, struct vbd_copy_entry *entry)
{
	size_t len = strlen(walk->path), name_bytes = strlen(name);
	struct stat about;
	enum vbd_copy_fault fault;

	if (len + 1 + name_bytes >= sizeof(walk->path))
		return VBD_COPY_FAULT_NAME_TOO_LONG;
	if (name_bytes > 0)
		(void)sprintf(walk->path + len, "/%s", name);
	fault = look(walk->root, walk->path, &about);
	if (fault != VBD_COPY_FAULT_OK)
		return fault;
	if (!describe(&about, entry))
		return VBD_COPY_FAULT_NOT_REGULAR;
	if (entry->type == VBD_COPY_DIRECTORY)
		return enter(walk);
	return entry->size_bytes > walk->root->max_bytes ? VBD_COPY_FAULT_TOO_LARGE
							 : VBD_COPY_FAULT_OK;
}

static void visit_item(struct vbd_copy_walk *walk, const char *name, struct vbd_copy_item *item)
{
	const char *path = walk->path + walk->base_bytes;

	item->fault = visit(walk, name, &item->entry);
	/* The receiver must not make a directory of it. */
	if (item->fault != VBD_COPY_FAULT_OK)
		item->entry = (struct vbd_copy_entry){.type = VBD_COPY_FILE};
	path += path[0] == '/';
	item->entry.path = (const uint8_t *)strdup(path);
	item->entry.path_bytes = item->entry.path ? (uint32_t)strlen(path) : 0;
	walk->count++;
	if (!item->entry.path)
		item->fault = VBD_COPY_FAULT_NO_RESOURCES;
	else if (walk->root->max_files > 0 && walk->count > walk->root->max_files)
		item->fault = VBD_COPY_FAULT_TOO_MANY;
	else
		return;
	walk->over = true;
}

uint32_t vbd_copy_walk_next(struct vbd_copy_walk *walk, struct vbd_copy_item *items, uint32_t max)
{
	uint32_t count = 0;

	while (count < max && !walk->over) {
		const char *name = next_name(walk);

		if (name)
			visit_item(walk, name, &items[count++]);
		else
			walk->over = true;
	}
	return count;
}

/* Fill in the item of a name. Returns false if it is gone meanwhile. */
static bool list_name(const struct vbd_copy_root *root, const char *path, const char *name,
	struct vbd_copy_listed *item)
{
	char joined[PATH_MAX];
	struct stat about;

	if (vbd_copy_join(path, (const uint8_t *)name, (uint32_t)strlen(name), joined) !=
			VBD_COPY_FAULT_OK ||
		look(root, joined, &about) != VBD_COPY_FAULT_OK)
		return false;
	*item = (struct vbd_copy_listed){.other = false};
	(void)snprintf(item->name, sizeof(item->name), "%s", name);
	item->other = !describe(&about, &item->entry);
	return true;
}

uint32_t vbd_copy_list(const struct vbd_copy_root *root, const char *after,
	struct vbd_copy_listed *items, uint32_t max, bool *ret_more, enum vbd_copy_fault *ret_fault)
{
	char path[PATH_MAX];
	struct dirent **names = NULL;
	uint32_t listed = 0;
	int count = 0, i = 0;

	*ret_more = false;
	*ret_fault = vbd_copy_join(root->path, NULL, 0, path);
	if (*ret_fault == VBD_COPY_FAULT_OK)
		*ret_fault = read_names(root, path, &names, &count);
	while (i < count && strcmp(names[i]->d_name, after) <= 0)
		i++;
	for (; i < count && listed < max; i++)
		listed += list_name(root, path, names[i]->d_name, &items[listed]);
	*ret_more = i < count;
	free_names(names, count);
	return listed;
}
