/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports: directories of this host that copies may read or write, by name. The configuration lists
 * them under `exports:`; without that list there are none, for nobody.
 *
 * Control thread, but for what a docstring says.
 */
#ifndef VBD_DAEMON_COPIES_EXPORTS_H
#define VBD_DAEMON_COPIES_EXPORTS_H

#include "base/addr.h"
#include "daemon/copies/copy_files.h"
#include "daemon/core/object.h"

enum { VBD_EXPORT_READ = 1, VBD_EXPORT_WRITE = 2 };

#define VBD_EXPORT_SECRET_BYTES 512

/* An item of the list. */
struct vbd_export_spec {
	char name[64];
	char path[VBD_PATH_MAX_BYTES];	      /* absolute; a directory */
	unsigned int access;		      /* VBD_EXPORT_* */
	char secret_file[VBD_PATH_MAX_BYTES]; /* "" for none; then `allow` is needed */
	char allow[16][64];		      /* CIDR; none: any peer that knows the secret */
	uint32_t allow_count;
	uint64_t max_bytes; /* of one file; 0: no limit */
	uint64_t max_files; /* of one copy; 0: no limit */
	uint32_t umask;
};

struct vbd_export {
	struct vbd_object object; /* first; the name of the export is the object's */
	struct vbd_export_spec spec;
	int dir_fd;		/* O_PATH | O_DIRECTORY; -1 if the directory could not be opened */
	struct vbd_error error; /* why not */
	uint8_t secret[VBD_EXPORT_SECRET_BYTES];
	uint32_t secret_bytes; /* 0: none */
	uint32_t users;	       /* copies that use dir_fd */
};

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
