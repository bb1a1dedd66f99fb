/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the program: its signals, the sockets that it listens on, and reading the
 * configuration again while it runs.
 */
#ifndef VBD_CMD_VERBSD_H
#define VBD_CMD_VERBSD_H

#include "api/api.h"
#include "api/http/server.h"
#include "base/attr.h"
#include "base/error.h"
#include "daemon/config/config.h"
#include "daemon/core/loop.h"

#include <sys/stat.h>

/* The exit status when the command line or the configuration is wrong. */
#define EXIT_USAGE 2

/**
 * vbd_check_start - try what the start would open, and print the result
 *
 * What vbd_config_check() leaves to others: the files of TLS, the ports and paths that are written
 * to. Nothing is made or changed. Warns of what the daemon would serve on without: an address that
 * no interface has, a state_dir that can't be written to.
 *
 * Returns an exit status. Main thread, before others start. Blocks on the file system.
 */
int vbd_check_start(const struct vbd_config *config);

/*
 * SIGTERM, SIGINT and SIGHUP. A thread waits for them, so that the first two end the process also
 * while the control thread or a data worker is stuck: at a second signal, and at a deadline after
 * the first. Main thread.
 */

/** vbd_signals_hold - block SIGHUP, so that it never ends the process; a SIGHUP before
 * vbd_signals_watch() waits for that call. Call it before other threads start. */
void vbd_signals_hold(void);

/**
 * vbd_signals_start - block SIGTERM and SIGINT, and start the thread that waits for all three
 *
 * Call it before other threads start: they inherit the mask. Until vbd_signals_watch() one of the
 * two ends the process as if nobody caught it. The thread stays until the process ends.
 */
enum vbd_status vbd_signals_start(struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_signals_watch - call back on the control thread
 * @on_stop:   called once, at the first SIGTERM or SIGINT
 * @on_reload: called at SIGHUP before that, once for several that come close together
 *
 * A second SIGTERM or SIGINT ends the process at once with EXIT_FAILURE.
 *
 * Call it once. Before the loop is destroyed, call vbd_signals_unwatch().
 */
enum vbd_status vbd_signals_watch(struct vbd_loop *loop, void (*on_stop)(int signum, void *arg),
	void (*on_reload)(void *arg), void *arg, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_signals_use_timeout - end the process with EXIT_FAILURE if it still runs so long after the
 * first SIGTERM or SIGINT, and half a second more for the control thread to say what did not end */
void vbd_signals_use_timeout(uint64_t shutdown_timeout_ms);

/** vbd_signals_unwatch - don't call back any more; a second signal and the deadline stay */
void vbd_signals_unwatch(void);

/** vbd_signals_ignore - a further signal has no effect: all is released, and the process ends */
void vbd_signals_ignore(void);

/* The sockets that systemd passes, else those of the configuration. */
struct vbd_sockets {
	struct vbd_server_socket items[VBD_SERVER_SOCKETS_MAX];
	size_t count;
	char own_path[108]; /* of a unix socket that vbd_sockets_open() made; "" for none */
	struct stat own_file;
};

/**
 * vbd_sockets_open - use the inherited sockets, and open the others as configured
 *
 * An inherited TCP socket takes the place of all addresses of `listen`. Logs what is served where,
 * and warns of what is served in clear and of addresses that no interface has yet. The caller owns
 * the sockets.
 */
enum vbd_status vbd_sockets_open(const struct vbd_config *config, struct vbd_sockets *ret_sockets,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_sockets_close - close all sockets, and remove the file of a unix socket that verbsd made */
void vbd_sockets_close(struct vbd_sockets *sockets);

/** vbd_sockets_remove - remove the file of the unix socket, if vbd_sockets_open() made that file.
 * Call it before the socket is closed: then the file of another daemon may get the same inode. */
void vbd_sockets_remove(struct vbd_sockets *sockets);

/** vbd_sockets_absent - an address of `listen` that no interface has now, as text; NULL if there is
 * none behind the first @ret_next ones, else @ret_next is behind it */
const char *vbd_sockets_absent(const struct vbd_config *config, size_t *ret_next);

/* The files are read on the thread pool; a fault in one leaves all as it was. Control thread. */
struct vbd_reload {
	/* Set by the program, and valid as long as the loop runs. */
	struct vbd_config *config; /* in force */
	struct vbd_daemon *daemon;
	struct vbd_api *api;
	/* Read file and options, and check them; runs on the thread pool. */
	enum vbd_status (*read)(void *arg, struct vbd_config *ret_config,
		struct vbd_caller_list *ret_callers, struct vbd_config_specs *ret_specs,
		struct vbd_error *err);
	void *arg;

	bool running;
	bool again; /* a signal came meanwhile */
};

/** vbd_reload_begin - begin to reload; VBD_E_WRONG_STATE while another reload is under way */
enum vbd_status vbd_reload_begin(struct vbd_reload *reload, struct vbd_error *err);

/** vbd_reload_on_signal - reload now, or once more after the reload that is under way: what it has
 * read may be older than the signal */
void vbd_reload_on_signal(struct vbd_reload *reload);

#endif
