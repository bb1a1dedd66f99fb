/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric on the fake provider, with workers that the test turns by hand and observers that record
 * their calls. Shared by the tests of connections, channels and devices.
 */
#ifndef VBD_TESTS_UNIT_RIG_H
#define VBD_TESTS_UNIT_RIG_H

#include "rdma/conn/conn.h"
#include "rdma/conn/listener.h"
#include "rdma/data/transfer.h"
#include "rdma/device/mem.h"
#include "tests/fake/provider_fake.h"
#include "tests/unit/rescan.h"

#define RIG_LISTENERS	4
#define RIG_MEMS	4
#define RIG_TRANSFERS	8
#define RIG_CONNS	80
#define RIG_STATES	12
#define RIG_MESSAGES	64
#define RIG_CQ_DEPTH	256
#define RIG_STORY_BYTES 16384

struct rig;

struct rig_conn {
	struct rig *rig;
	struct vbd_conn *conn;			/* NULL once destroyed */
	enum vbd_conn_state states[RIG_STATES]; /* states passed to the observer, in order */
	unsigned int state_count;
	uint64_t deadline_ms;			      /* 0 if none is set */
	struct vbd_recv_slot *messages[RIG_MESSAGES]; /* messages not released yet */
	unsigned int message_count, messages_ever;
	bool memory_went;
	unsigned int stepped;
	unsigned int looked_up; /* names, again */
	bool look_up_fails;
	struct vbd_conn_params accept_as; /* passive side: parameters it was made with */
};

struct rig_listener {
	struct rig *rig;
	struct vbd_cm_listener cm;
	struct vbd_conn_params params;
	bool refuse; /* reject without making a connection */
	bool accept; /* decide in the observer's call */
	bool lost;
	struct rig_conn *last; /* the connection of the last request */
};

struct rig_transfer {
	struct vbd_transfer transfer;
	struct rig *rig;
	unsigned int started, ended;
	enum vbd_transfer_state ended_as;
};

struct rig {
	struct vbd_fabric *fabric; /* NULL if creating the connection failed */
	struct fake_device *device;
	struct vbd_error err; /* of the last failure */
	struct rig_conn conns[RIG_CONNS];
	unsigned int conn_count;
	struct rig_listener listeners[RIG_LISTENERS];
	unsigned int listener_count;
	struct vbd_mem mems[RIG_MEMS];
	unsigned int mem_count;
	struct rig_transfer transfers[RIG_TRANSFERS];
	unsigned int transfer_count;
	unsigned int added, removing, removed, async_events, cm_opened;
	int last_async_type, last_async_port;
	bool free_removed; /* forget each removed device at the end of rig_settle() */
	uint64_t decide_timeout_ms;
	struct vbd_cm_params cm;   /* of connections and listeners made later */
	unsigned int queued_calls; /* calls that a test leaves in the queue of their lane */
	bool threads;		   /* the workers run as threads; nothing is turned by hand */
	unsigned int warnings;	   /* log lines above debug level, which rdma/ must not write */
	char *story;		   /* each line that was told; NULL before rig_tell_story() */
};

/**
 * rig_setup, rig_teardown - cmocka fixtures: one device "fake0", one worker; teardown fails the
 * test if an object is left
 */
int rig_setup(void **state);
int rig_setup_two_workers(void **state);
int rig_teardown(void **state);

/* A test on this fixture, which its body has as `rig`. */
#define RIG_TEST(name)	       TEST_WITH(name, struct rig *rig, rig_setup, rig_teardown)
#define TWO_WORKERS_TEST(name) TEST_WITH(name, struct rig *rig, rig_setup_two_workers, rig_teardown)

/** rig_start - create the fabric and scan for devices; false if that failed */
bool rig_start(struct rig *rig, unsigned int workers);

/** rig_make_iwarp - "fake0" is an iWARP device; before anything is made on it */
void rig_make_iwarp(struct rig *rig);

/** rig_stop - end all connections, if necessary by force, and destroy everything */
void rig_stop(struct rig *rig);

/**
 * rig_tell_story - record from now on, a line each: the log, also at debug level, what connections
 * note, and the deadlines that they set
 */
void rig_tell_story(struct rig *rig);

/** rig_assert_story - assert that what was recorded since the last call is in the golden file */
void rig_assert_story(struct rig *rig);

/** rig_assert_told - assert that this line was recorded since the last rig_assert_story() */
void rig_assert_told(struct rig *rig, const char *line);

/** rig_finish_calls - until no call is under way; what is left of queue pairs is destroyed by calls
 */
void rig_finish_calls(struct rig *rig);

/** rig_ask_ports - ask the ports of all devices anew, and settle */
void rig_ask_ports(struct rig *rig);

/** rig_settle - dispatch events and turn workers until nothing moves */
void rig_settle(struct rig *rig);

/** rig_turn_workers - turn each worker that has work once; false if none has */
bool rig_turn_workers(struct rig *rig);

/** rig_params - small queues: 4 sends, 4 receives of 64 bytes */
struct vbd_conn_params rig_params(void);

/** rig_conn_create_unresolved - an active connection whose host name is being resolved; NULL if
 * that failed */
struct rig_conn *rig_conn_create_unresolved(struct rig *rig, const struct vbd_conn_params *params);

/** rig_conn_create - start an active connection to 10.0.0.254:7471; NULL if that failed */
struct rig_conn *rig_conn_create(struct rig *rig, const struct vbd_conn_params *params);

/**
 * rig_manual - create a connection that is brought up by hand, in INIT; @params NULL: rig_params()
 * on the first port of the device
 */
struct rig_conn *rig_manual(
	struct rig *rig, const struct vbd_conn_params *params, const struct vbd_manual_params *how);

/**
 * rig_conn_connect - create a connection and play the peer's answers up to ESTABLISHED, unless a
 * call fails
 */
struct rig_conn *rig_conn_connect(struct rig *rig, const struct vbd_conn_params *params);

/** rig_conn_answer - play the answer that the connection waits for; false if it waits for none */
bool rig_conn_answer(struct rig_conn *rc);

/** rig_conn_in - create a connection in @state, on the active side if both sides have the state */
struct rig_conn *rig_conn_in(struct rig *rig, enum vbd_conn_state state);

/**
 * rig_listener - create a listener that does not listen yet; requests get rig_params() and no
 * decision
 */
struct rig_listener *rig_listener(struct rig *rig);

/** rig_try_listen - listen on 0.0.0.0 and any free port; false if that failed */
bool rig_try_listen(struct rig_listener *listener);

/** rig_listen - listen on 0.0.0.0 and any free port; must not fail */
void rig_listen(struct rig_listener *listener);

/** rig_request - deliver a peer's connection request; NULL if no connection results */
struct rig_conn *rig_request(struct rig_listener *listener);

/** rig_conn_create_to - start an active connection to a listener of the test, for loopback */
struct rig_conn *rig_conn_create_to(struct rig_listener *listener);

/** rig_free_conns - forget the connections, which must all have ended */
void rig_free_conns(struct rig *rig);

/** rig_loop_connect - connect two connections through @listener; switches loopback on */
void rig_loop_connect(
	struct rig_listener *listener, struct rig_conn **ret_active, struct rig_conn **ret_passive);

/** rig_mem - register @size_bytes of zeroed memory */
struct vbd_mem *rig_mem(struct rig *rig, size_t size_bytes, unsigned int access);

/** rig_transfer - create a transfer over @rc without starting it; ids count from 1 */
struct rig_transfer *rig_transfer(struct rig_conn *rc, enum vbd_op op, const struct vbd_mem *mem,
	uint64_t length_bytes, uint64_t chunk_bytes);

/** rig_start_transfer - submit a transfer and settle */
void rig_start_transfer(struct rig_transfer *rt);

/** rig_cancel_transfer - cancel a transfer; @late: because of its deadline */
void rig_cancel_transfer(struct rig_transfer *rt, bool late);

/** rig_deadline - let the connection's deadline pass */
void rig_deadline(struct rig_conn *rc);

/** rig_look - let a look pass at each connection whose end waits for sends that may fail; false if
 * none does */
bool rig_look(struct rig *rig);

/** rig_close - close a connection and let it drain */
void rig_close(struct rig_conn *rc);

/** rig_release - release the oldest message */
void rig_release(struct rig_conn *rc);

/** rig_has_entry - whether the timeline has the entry "kind what" */
bool rig_has_entry(const struct rig_conn *rc, enum vbd_timeline_kind kind, const char *what);

/** rig_assert_gone - assert that only the record of the connection is left */
void rig_assert_gone(const struct rig_conn *rc);

/** rig_assert_cqs_idle - assert that no CQ has users, reservations or outstanding work */
void rig_assert_cqs_idle(struct rig *rig);

/** rig_assert_idle - assert that no connection holds an object: only the fabric's own are live */
void rig_assert_idle(struct rig *rig);

#endif
