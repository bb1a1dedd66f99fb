/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports: directories of this host that copies may read or write, by name. The configuration lists
 * them under `exports:`; without that list there are none, for nobody.
 *
 * A pool thread opens the directory of an export and reads its secret, at the start and with each
 * reload of the configuration, since a file system may be mounted there meanwhile. Copies that run
 * keep the directory that they began with: struct vbd_export stays until they have ended.
 *
 * Control thread, but for what a docstring says.
 */
#ifndef VBD_DAEMON_COPIES_EXPORTS_H
#define VBD_DAEMON_COPIES_EXPORTS_H

#include "daemon/connections/gate.h"
#include "daemon/copies/copy_files.h"
#include "daemon/core/object.h"

#include <sys/stat.h>

struct vbd_export_opening;

enum { VBD_EXPORT_READ = 1, VBD_EXPORT_WRITE = 2 };

#define VBD_EXPORT_SECRET_BYTES	    512
#define VBD_EXPORT_SECRET_BYTES_MIN 16

/* X(SYMBOL, json name, ended) */
#define VBD_EXPORT_STATE_MAP(X)                                          \
	X(VBD_EXPORT_OPENING, "opening", false) /* for the first time */ \
	X(VBD_EXPORT_READY, "ready", false)                              \
	X(VBD_EXPORT_FAILED, "failed", false)

enum vbd_export_state { VBD_EXPORT_STATE_MAP(VBD_ENUM_ROW) VBD_EXPORT_STATE_COUNT };

/* An item of the list. vbd_exports_use() compares its bytes, so it is zeroed before it is filled
 * in. */
struct vbd_export_spec {
	char name[VBD_NAME_BYTES];
	char path[VBD_PATH_MAX_BYTES];	      /* absolute; a directory */
	unsigned int access;		      /* VBD_EXPORT_* */
	char secret_file[VBD_PATH_MAX_BYTES]; /* "" for none; then `gate.allow` is needed */
	struct vbd_gate_rules gate; /* `allow` only; empty: any peer that knows the secret */
	uint64_t max_bytes;	    /* of one file; 0: no limit */
	uint64_t max_files;	    /* of one copy; 0: no limit */
	uint32_t umask;
};

struct vbd_export {
	struct vbd_object object; /* first; the name of the export is the object's */
	struct vbd_export_spec spec;
	enum vbd_export_state state;
	int dir_fd;		/* O_PATH | O_DIRECTORY; -1 unless READY */
	struct vbd_error error; /* of FAILED */
	uint8_t secret[VBD_EXPORT_SECRET_BYTES];
	uint32_t secret_bytes; /* 0: none */
	uint32_t users;	       /* copies that use dir_fd; the last one calls vbd_object_settle() */
	dev_t dev;	       /* of dir_fd, as `ino` */
	ino_t ino;
	struct vbd_export_opening *opening; /* NULL: no pool thread opens it now */
};

/** vbd_export_state_name - "ready" */
const char *vbd_export_state_name(enum vbd_export_state state);

/**
 * vbd_export_check - whether an item of the list can be used, but for its directory, which may be
 * missing
 *
 * Refuses (1) access to nothing; (2) neither a secret nor `allow`; (3) a secret that
 * vbd_secret_file_read() refuses, or that has not 16 to 512 bytes. Any thread; blocks on the file
 * system.
 */
enum vbd_status vbd_export_check(
	const struct vbd_export_spec *spec, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_exports_use - have these exports from now on, and no others; begin to open all of them
 * @specs: checked; each name once
 *
 * An export whose spec, directory and secret are as before stays. One that has changed is another
 * object, with another id.
 */
void vbd_exports_use(struct vbd_daemon *daemon, const struct vbd_export_spec *specs, size_t count);

/**
 * vbd_export_for_peer - the export that a peer may use
 * @peer:   its address
 * @access: VBD_EXPORT_READ or _WRITE
 *
 * Returns NULL if there is none of the name, its access is another, its directory could not be
 * opened, or `allow` does not have the address: the peer is not told which.
 */
struct vbd_export *vbd_export_for_peer(struct vbd_daemon *daemon, const char *name,
	const struct sockaddr *peer, unsigned int access);

/** vbd_export_root - the root of a copy in the export; @path stays the caller's */
struct vbd_copy_root vbd_export_root(const struct vbd_export *export, const char *path);

#endif
