/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies: files and directories that move between an export of this daemon and one of another, over
 * a connection with the service `files` (docs/copy-protocol.md). The client of a copy is the daemon
 * that was asked for it: it makes the connection, and closes it. The server has the listener; it
 * makes its copy for each connection.
 *
 * Control thread; files are read and written on the thread pool.
 */
#ifndef VBD_DAEMON_COPIES_COPY_H
#define VBD_DAEMON_COPIES_COPY_H

#include "daemon/connections/connections.h"
#include "daemon/copies/copy_fsm.h"
#include "daemon/copies/exports.h"
#include "daemon/memory/buffers.h"

struct vbd_copy_session;

/* How far a copy is. */
struct vbd_copy_progress {
	uint64_t files; /* files and directories that the sender has found so far */
	uint64_t bytes; /* of these files, as far as the receiver wants them */
	uint64_t files_done, bytes_done;
	uint64_t bytes_sent; /* sender: also of files that are not done */
	uint64_t skipped;    /* files that the receiver has, and keeps */
	uint64_t failed;
	bool counted; /* the sender has found all: `files` and `bytes` do not grow */
};

/* An entry that was skipped or has failed; the first ones are kept. */
struct vbd_copy_problem {
	char *path; /* bytes, with a NUL; "" for the path of the copy itself */
	enum vbd_copy_fault fault;
};

#define VBD_COPY_PROBLEMS_MAX 100

/* A peer that has lost its power is noticed in this time and a little more. */
#define VBD_COPY_HEARTBEAT_MS 5000

struct vbd_copy {
	struct vbd_object object; /* first */
	enum vbd_copy_state state;
	bool server; /* the peer asked for the copy */
	bool sends;  /* this daemon has the source */
	uint64_t export_id;
	char export_name[64];
	char *path; /* in the export, bytes with a NUL */
	char peer_addr[256];
	uint16_t peer_port;
	char peer_export[64];
	char *peer_path; /* as `path` */
	uint64_t connection_id;
	uint32_t options; /* of HELLO */
	enum vbd_copy_overwrite overwrite;
	uint32_t timeout_ms; /* 0: none */
	struct vbd_copy_progress progress;
	struct vbd_copy_problem problems[VBD_COPY_PROBLEMS_MAX];
	uint32_t problem_count;
	uint64_t started_ns;	   /* the first byte could move; 0 before */
	enum vbd_copy_fault fault; /* why the copy has ended; OK if it is done */
	struct vbd_error error;	   /* the same for clients */
	struct vbd_first_error first_error;
	struct vbd_copy_session *session; /* moves the copy; NULL once it has ended */
};

struct vbd_copy_spec {
	struct vbd_origin origin;
	bool pull;		   /* the peer has the source */
	struct vbd_export *export; /* of this daemon */
	const char *path;
	char peer_addr[256];
	uint16_t peer_port;
	char peer_export[64];
	const char *peer_path;
	char device[64]; /* "" for the one that has the route */
	uint32_t options;
	enum vbd_copy_overwrite overwrite;
	uint32_t timeout_ms; /* 0: none */
};

/** vbd_copy_create - begin a copy; a later failure is the copy's own `error`. Returns the errors of
 * vbd_connection_create() and vbd_object_create(), and VBD_E_WRONG_STATE for an export that failed.
 */
enum vbd_status vbd_copy_create(struct vbd_daemon *daemon, const struct vbd_copy_spec *spec,
	struct vbd_copy **ret_copy, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_copy_params - parameters of a connection of the service FILES: room for its messages */
void vbd_copy_params(struct vbd_conn_params *params);

/** vbd_copy_serve - make the copy of a connection that a listener with the service `files` has got;
 * `files_requested` of struct vbd_daemon */
void vbd_copy_serve(struct vbd_connection *connection);

#endif
