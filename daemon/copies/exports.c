/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/exports.h"

#include "base/log.h"
#include "base/text.h"

#include <fcntl.h>
#include <unistd.h>

/* An export that a pool thread opens, and the result. */
struct vbd_export_opening {
	struct vbd_export *export; /* NULL: it is gone */
	bool again;		   /* the configuration was reloaded meanwhile */
	struct vbd_export_spec spec;
	int dir_fd; /* -1 with an error */
	struct stat dir;
	uint8_t secret[VBD_EXPORT_SECRET_BYTES];
	uint32_t secret_bytes;
	struct vbd_error error;
};

VBD_ENUM_NAMES(vbd_export_state_name, enum vbd_export_state, VBD_EXPORT_STATE_MAP)

static struct vbd_export *export_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_export, object);
}

/* --- on a pool thread ------------------------------------------------------------------------ */

/* The secret is the whole file, but for a newline at its end. */
static enum vbd_status read_secret(const char *path, uint8_t secret[VBD_EXPORT_SECRET_BYTES],
	uint32_t *ret_bytes, struct vbd_error *err)
{
	char text[VBD_EXPORT_SECRET_BYTES + 2];
	size_t len = 0;
	enum vbd_status status = vbd_secret_file_read(path, text, sizeof(text), &len, err);

	if (status != VBD_OK)
		return status;
	len -= len && text[len - 1] == '\n';
	if (len < VBD_EXPORT_SECRET_BYTES_MIN || len > VBD_EXPORT_SECRET_BYTES) {
		status = vbd_error_set(err, VBD_E_BAD_VALUE,
			"%s has %zu bytes, a secret has %d to %d", vbd_text_path(path).text, len,
			VBD_EXPORT_SECRET_BYTES_MIN, VBD_EXPORT_SECRET_BYTES);
	} else {
		memcpy(secret, text, len);
		*ret_bytes = (uint32_t)len;
	}
	explicit_bzero(text, sizeof(text));
	return status;
}

enum vbd_status vbd_export_check(const struct vbd_export_spec *spec, struct vbd_error *err)
{
	uint8_t secret[VBD_EXPORT_SECRET_BYTES];
	uint32_t secret_bytes;
	enum vbd_status status;

	if (!spec->access)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/access",
			"%s: access is empty; it has read, write or both", spec->name);
	if (!spec->secret_file[0] && !spec->gate.allow_count)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/secret_file",
			"%s needs secret_file, allow or both: without them every host that "
			"reaches a listener could copy files",
			spec->name);
	if (!spec->secret_file[0])
		return VBD_OK;
	status = read_secret(spec->secret_file, secret, &secret_bytes, err);
	explicit_bzero(secret, sizeof(secret));
	return status;
}

static enum vbd_status refuse_dir(const char *path, const char *call, struct vbd_error *err)
{
	int errnum = errno;
	enum vbd_status status = errnum == ENOENT		       ? VBD_E_NOT_FOUND
				 : errnum == EACCES || errnum == EROFS ? VBD_E_PERMISSION_DENIED
								       : VBD_E_RESOURCE_ERROR;

	(void)vbd_error_errno(err, status, call, errnum, "%s", vbd_text_path(path).text);
	return vbd_error_hint(err, status,
		"Let the directory be there and verbsd's user have access, also in the sandbox of "
		"its unit (EXPORTS in verbsd.yaml(5)); then `verbsctl config reload`.");
}

/* open_dir() finds out whether verbsd's user may read or write, before a copy needs it. */
static enum vbd_status open_dir(struct vbd_export_opening *opening, struct vbd_error *err)
{
	const struct vbd_export_spec *spec = &opening->spec;
	int mode = X_OK | (spec->access & VBD_EXPORT_READ ? R_OK : 0) |
		   (spec->access & VBD_EXPORT_WRITE ? W_OK : 0);

	opening->dir_fd = open(spec->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (opening->dir_fd < 0)
		return refuse_dir(spec->path, "open", err);
	if (fstat(opening->dir_fd, &opening->dir) != 0)
		return refuse_dir(spec->path, "fstat", err);
	return faccessat(opening->dir_fd, ".", mode, AT_EACCESS) == 0
		       ? VBD_OK
		       : refuse_dir(spec->path, "faccessat", err);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void open_export(void *arg)
{
	struct vbd_export_opening *opening = arg;
	const struct vbd_export_spec *spec = &opening->spec;
	enum vbd_status status = VBD_OK;

	if (spec->secret_file[0])
		status = read_secret(spec->secret_file, opening->secret, &opening->secret_bytes,
			&opening->error);
	if (status == VBD_OK && open_dir(opening, &opening->error) != VBD_OK)
		close_fd(&opening->dir_fd);
}

/* --- life ------------------------------------------------------------------------------------ */

static void begin_opening(struct vbd_export *export);

static struct vbd_export *create_export(
	struct vbd_daemon *daemon, const struct vbd_export_spec *spec)
{
	const struct vbd_origin origin = {.shared = true};
	struct vbd_object *object;
	struct vbd_error err = {0};

	if (vbd_object_create(daemon->exports, &origin, spec->name, &object, &err) != VBD_OK) {
		vbd_log(VBD_LOG_ERROR, NULL, "there is no export %s: %s", spec->name, err.text);
		return NULL;
	}
	memcpy(&export_of(object)->spec, spec, sizeof(*spec));
	export_of(object)->dir_fd = -1;
	vbd_object_log(
		object, VBD_EVENT_EXPORT_CREATED, VBD_SEVERITY_INFO, VBD_OK, "%s", spec->path);
	return export_of(object);
}

/* Has nothing changed since the directory was opened before? */
static bool is_as_before(const struct vbd_export *export, const struct vbd_export_opening *opening)
{
	if (export->state == VBD_EXPORT_FAILED)
		return strcmp(export->error.text, opening->error.text) == 0;
	return export->state == VBD_EXPORT_READY && opening->dir_fd >= 0 &&
	       export->dev == opening->dir.st_dev && export->ino == opening->dir.st_ino &&
	       export->secret_bytes == opening->secret_bytes &&
	       memcmp(export->secret, opening->secret, opening->secret_bytes) == 0;
}

static void take_opening(struct vbd_export *export, struct vbd_export_opening *opening)
{
	bool ready = opening->dir_fd >= 0;

	close_fd(&export->dir_fd);
	export->dir_fd = opening->dir_fd;
	opening->dir_fd = -1;
	export->dev = opening->dir.st_dev;
	export->ino = opening->dir.st_ino;
	memcpy(export->secret, opening->secret, sizeof(export->secret));
	export->secret_bytes = opening->secret_bytes;
	export->error = opening->error;
	export->state = ready ? VBD_EXPORT_READY : VBD_EXPORT_FAILED;
	vbd_object_log(&export->object, ready ? VBD_EVENT_EXPORT_READY : VBD_EVENT_EXPORT_FAILED,
		ready ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING, export->error.status, "%s",
		ready ? export->spec.path : export->error.text);
	vbd_object_changed(&export->object);
}

static void on_opened(void *arg)
{
	struct vbd_export_opening *opening = arg;
	struct vbd_export *export = opening->export;

	if (export) {
		export->opening = NULL;
		if (!is_as_before(export, opening) && export->users) {
			struct vbd_daemon *daemon = export->object.registry->daemon;

			vbd_object_unregister(&export->object);
			export = create_export(daemon, &opening->spec);
		}
		if (export && !is_as_before(export, opening))
			take_opening(export, opening);
		if (export && opening->again)
			begin_opening(export);
	}
	close_fd(&opening->dir_fd);
	explicit_bzero(opening->secret, sizeof(opening->secret));
	free(opening);
}

static void begin_opening(struct vbd_export *export)
{
	struct vbd_loop *loop = export->object.registry->daemon->loop;
	struct vbd_export_opening *opening;
	struct vbd_error err = {0};

	if (export->opening) {
		export->opening->again = true;
		return;
	}
	opening = calloc(1, sizeof(*opening));
	if (opening) {
		opening->export = export;
		memcpy(&opening->spec, &export->spec, sizeof(opening->spec));
		opening->dir_fd = -1;
	}
	if (opening && vbd_loop_work(loop, VBD_WORK_FILES, NULL, open_export, on_opened, opening,
			       &err) == VBD_OK) {
		export->opening = opening;
		return;
	}
	free(opening);
	vbd_log(VBD_LOG_ERROR, NULL, "no memory to open the export %s", export->spec.name);
}

void vbd_exports_use(struct vbd_daemon *daemon, const struct vbd_export_spec *specs, size_t count)
{
	vbd_registry_for_each (object, daemon->exports) {
		size_t i = 0;

		while (i < count && memcmp(&export_of(object)->spec, &specs[i], sizeof(*specs)))
			i++;
		if (i == count)
			vbd_object_unregister(object);
	}
	for (size_t i = 0; i < count; i++) {
		struct vbd_object *found = vbd_registry_find_name(daemon->exports, specs[i].name);
		struct vbd_export *export =
			found ? export_of(found) : create_export(daemon, &specs[i]);

		if (export)
			begin_opening(export);
	}
}

static bool export_is_used(const struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, const struct vbd_export, object)->users > 0;
}

static const char *get_state_name(const struct vbd_object *object)
{
	return vbd_export_state_name(
		VBD_CONTAINER_OF(object, const struct vbd_export, object)->state);
}

static void free_export(struct vbd_object *object)
{
	struct vbd_export *export = export_of(object);

	if (export->opening)
		export->opening->export = NULL;
	close_fd(&export->dir_fd);
	explicit_bzero(export->secret, sizeof(export->secret));
}

const struct vbd_kind vbd_export_kind = {
	.size_bytes = sizeof(struct vbd_export),
	.is_used = export_is_used,
	.state = get_state_name,
	.error_at = offsetof(struct vbd_export, error),
	.free = free_export,
};

/* --- copies ---------------------------------------------------------------------------------- */

struct vbd_export *vbd_export_for_peer(struct vbd_daemon *daemon, const char *name,
	const struct sockaddr *peer, unsigned int access)
{
	struct vbd_object *found = vbd_registry_find_name(daemon->exports, name);
	struct vbd_export *export = found ? export_of(found) : NULL;

	if (!export || export->state != VBD_EXPORT_READY ||
		(export->spec.access & access) != access ||
		!vbd_gate_allows(&export->spec.gate, peer))
		return NULL;
	return export;
}

struct vbd_copy_root vbd_export_root(const struct vbd_export *export, const char *path)
{
	return (struct vbd_copy_root){
		.dir_fd = export->dir_fd,
		.path = path,
		.max_bytes = export->spec.max_bytes ? export->spec.max_bytes : UINT64_MAX,
		.max_files = export->spec.max_files,
		.umask = export->spec.umask,
	};
}
