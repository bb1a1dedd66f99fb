/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole daemon on the fake provider, with its real loop and worker threads. Loopback is on, so
 * that the daemon can connect to itself. Shared by the tests of the services.
 */
#ifndef VBD_TESTS_UNIT_SVC_H
#define VBD_TESTS_UNIT_SVC_H

#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/daemon.h"
#include "daemon/memory/buffers.h"
#include "daemon/work/transfers.h"
#include "tests/fake/provider_fake.h"
#include "tests/unit/rescan.h"

struct svc {
	struct vbd_config config;
	struct vbd_daemon *daemon;
	struct fake_device *device;
	struct vbd_origin origin; /* of what the functions below make; zeros: verbsd makes it */
	struct vbd_error err;	  /* set by calls that must not fail */
	bool stopped;
	unsigned int descriptors; /* of the process before the daemon */
};

/**
 * svc_setup, svc_teardown - cmocka fixtures: one device "fake0"; teardown fails the test if an
 * object or a descriptor is left, or if a number is not that of the objects
 */
int svc_setup(void **state);
int svc_teardown(void **state);

/* A test on this fixture, which its body has as `svc`. */
#define SVC_TEST(name) TEST_WITH(name, struct svc *svc, svc_setup, svc_teardown)

/** svc_start - create the daemon from svc->config; false if that failed */
bool svc_start(struct svc *svc);

/** svc_restart - stop the daemon and start it with the current svc->config */
void svc_restart(struct svc *svc);

/** svc_restart_in - stop the daemon, and start it with a state_dir in @folder; false if that failed
 */
bool svc_restart_in(struct svc *svc, const char *folder);

/** svc_stop - stop and destroy the daemon */
void svc_stop(struct svc *svc);

/* Turns the loop until @condition holds. */
#define SVC_UNTIL(svc, condition) \
	UNIT_UNTIL (condition)    \
	vbd_loop_turn((svc)->daemon->loop, true)

/** svc_ask_ports - ask the ports of all devices anew, until they have answered */
void svc_ask_ports(struct svc *svc);

/** svc_turn - turn the loop without waiting */
void svc_turn(struct svc *svc);

/** svc_listener_spec - 0.0.0.0, any free port, accept at once, small queues, inbox */
struct vbd_listener_spec svc_listener_spec(void);
struct vbd_listener *svc_listen(struct svc *svc, const struct vbd_listener_spec *spec);

/** svc_spec_to - a connection to the listener; NULL: to port 1, where no listener is */
struct vbd_connection_spec svc_spec_to(const struct vbd_listener *listener);

/** svc_connect - start a connection; must not fail */
struct vbd_connection *svc_connect(struct svc *svc, const struct vbd_connection_spec *spec);

/** svc_newest_of - the newest connection that @listener accepted; NULL if none */
struct vbd_connection *svc_newest_of(struct svc *svc, const struct vbd_listener *listener);

struct svc_pair {
	struct vbd_connection *active, *passive;
};

/** svc_pair - establish two connections to each other */
struct svc_pair svc_pair(struct svc *svc, struct vbd_listener *listener);

/** svc_close - close a connection and wait for its end */
void svc_close(struct svc *svc, struct vbd_connection *connection);

/** svc_buffer - create a buffer and wait until it is ready */
struct vbd_buffer *svc_buffer(
	struct svc *svc, const char *name, uint64_t size_bytes, unsigned int access);

/** svc_find - the service's struct, by an id or a name; NULL with not_found */
void *svc_find(const struct vbd_registry *registry, const char *ref, struct vbd_error *err);

/** svc_send_message - vbd_transfer_send() for the owner of the connection */
enum vbd_status svc_send_message(struct vbd_connection *connection, const uint8_t *data,
	uint32_t length_bytes, const uint32_t *imm, uint32_t timeout_ms,
	struct vbd_transfer_record **ret_record, struct vbd_error *err);

/** svc_find_shared - the fabric's PD, CQ or SRQ by id or name; NULL with not_found */
void *svc_find_shared(const struct vbd_registry *registry, const char *ref, struct vbd_error *err);

/** svc_count_events - number of events of a type so far */
unsigned int svc_count_events(struct svc *svc, enum vbd_event_type type);

#endif
