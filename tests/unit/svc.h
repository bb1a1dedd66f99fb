/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole daemon on the fake provider, with its real loop and worker threads; loopback is on, so
 * that it can connect to itself. What the tests of the services have in common.
 */
#ifndef VBD_TESTS_UNIT_SVC_H
#define VBD_TESTS_UNIT_SVC_H

#include "daemon/buffers.h"
#include "daemon/connections.h"
#include "daemon/daemon.h"
#include "daemon/listeners.h"
#include "daemon/transfers.h"
#include "tests/fake/provider_fake.h"

struct svc {
	struct vbd_config config;
	struct vbd_daemon *daemon;
	struct fake_device *device;
	struct vbd_error err; /* of what must not fail */
	bool stopped;
};

/** svc_setup, svc_teardown - cmocka fixtures: one device "fake0"; at the end nothing may be left */
int svc_setup(void **state);
int svc_teardown(void **state);

/** svc_start - make the daemon of svc->config; false if that failed */
bool svc_start(struct svc *svc);

/** svc_restart - stop it and start it with svc->config as it is now */
void svc_restart(struct svc *svc);

/** svc_stop - stop it and destroy it */
void svc_stop(struct svc *svc);

/* Turn the loop until @condition holds; the runner's timeout is the watchdog. */
#define SVC_UNTIL(svc, condition)                                 \
	do {                                                      \
		while (!(condition))                              \
			vbd_loop_turn((svc)->daemon->loop, true); \
	} while (0)

/** svc_turn - let happen what needs no waiting */
void svc_turn(struct svc *svc);

/** svc_listener_spec - 0.0.0.0, a port picked, accept at once, small queues, inbox */
struct vbd_listener_spec svc_listener_spec(void);
struct vbd_listener *svc_listen(struct svc *svc, const struct vbd_listener_spec *spec);

/** svc_spec_to - a connection to the listener; NULL: to port 1, where nobody listens */
struct vbd_connection_spec svc_spec_to(const struct vbd_listener *listener);

/** svc_connect - begin to connect; must not fail */
struct vbd_connection *svc_connect(struct svc *svc, const struct vbd_connection_spec *spec);

/** svc_newest_of - the newest connection that came in by @listener; NULL if there is none */
struct vbd_connection *svc_newest_of(struct svc *svc, const struct vbd_listener *listener);

struct svc_pair {
	struct vbd_connection *active, *passive;
};

/** svc_pair - two connections to each other, established */
struct svc_pair svc_pair(struct svc *svc, struct vbd_listener *listener);

/** svc_close - close it and wait for its end */
void svc_close(struct svc *svc, struct vbd_connection *connection);

/** svc_buffer - a ready one */
struct vbd_buffer *svc_buffer(
	struct svc *svc, const char *name, uint64_t size_bytes, unsigned int access);

/** svc_count_events - events of one type so far */
unsigned int svc_count_events(struct svc *svc, enum vbd_event_type type);

#endif
