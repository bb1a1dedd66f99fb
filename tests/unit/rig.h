/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric on the fake provider whose workers are turned by hand, and observers that remember. What
 * the tests of connections, channels and devices have in common.
 */
#ifndef VBD_TESTS_UNIT_RIG_H
#define VBD_TESTS_UNIT_RIG_H

#include "rdma/conn.h"
#include "rdma/fabric.h"
#include "rdma/listener.h"
#include "rdma/mem.h"
#include "rdma/transfer.h"
#include "tests/fake/provider_fake.h"

#define RIG_LISTENERS 4
#define RIG_MEMS      4
#define RIG_TRANSFERS 8
#define RIG_CONNS     80
#define RIG_STATES    12
#define RIG_MESSAGES  64
#define RIG_CQ_DEPTH  256

struct rig;

struct rig_conn {
	struct rig *rig;
	struct vbd_conn *conn;			/* NULL once destroyed */
	enum vbd_conn_state states[RIG_STATES]; /* as the observer was told */
	unsigned int state_count;
	uint64_t deadline_ms;			      /* 0: none is set */
	struct vbd_recv_slot *messages[RIG_MESSAGES]; /* not released */
	unsigned int message_count, messages_ever;
	bool memory_went;
	unsigned int stepped;
	bool moves_slowly;		  /* moves that may block are the test's to make */
	struct vbd_conn_params accept_as; /* passive: what it was made with */
};

struct rig_listener {
	struct rig *rig;
	struct vbd_cm_listener cm;
	struct vbd_conn_params params;
	bool refuse; /* reject without making a connection */
	bool accept; /* at once */
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
	struct vbd_fabric *fabric; /* NULL if it could not be made */
	struct fake_device *device;
	struct vbd_error err; /* of the last thing that failed */
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
	bool forget_removed; /* forget each device at the end of rig_settle() */
	uint64_t decide_timeout_ms;
	struct vbd_cm_params cm; /* of connections and listeners to come */
	bool threads;		 /* the workers run: nothing is turned by hand */
	unsigned int warnings;	 /* log lines above debug: rdma/ has none */
};

/** rig_setup, rig_teardown - cmocka fixtures: one device "fake0", one worker; at the end nothing
 * may be left */
int rig_setup(void **state);
int rig_setup_two_workers(void **state);
int rig_teardown(void **state);

/** rig_start - make the fabric and look for devices; false if that failed */
bool rig_start(struct rig *rig, unsigned int workers);

/** rig_stop - end every connection, by force if need be, and take everything down */
void rig_stop(struct rig *rig);

/** rig_settle - turn everything until nothing moves any more */
void rig_settle(struct rig *rig);

/** rig_turn_workers - one turn of each worker that has something to do; false if none has */
bool rig_turn_workers(struct rig *rig);

/** rig_params - small queues: 4 sends, 4 receives of 64 bytes */
struct vbd_conn_params rig_params(void);

/** rig_conn_create - an active connection to 10.0.0.254:7471, resolving; NULL if it could not be
 * made */
struct rig_conn *rig_conn_create(struct rig *rig, const struct vbd_conn_params *params);

/** rig_manual - a connection to be brought up by hand, in INIT; NULL: rig_params(), the device's
 * first port */
struct rig_conn *rig_manual(
	struct rig *rig, const struct vbd_conn_params *params, const struct vbd_manual_params *how);

/** rig_conn_connect - the same, with the peer's answers, to ESTABLISHED if nothing fails on the way
 */
struct rig_conn *rig_conn_connect(struct rig *rig, const struct vbd_conn_params *params);

/** rig_conn_answer - give the next answer of a willing peer, whatever it waits for; false if it
 * waits for none */
bool rig_conn_answer(struct rig_conn *rc);

/** rig_conn_in - a new connection in @state, active where it has a choice */
struct rig_conn *rig_conn_in(struct rig *rig, enum vbd_conn_state state);

/** rig_listener - one that does not listen yet, to be told what to do with requests (rig_params(),
 * no decision) */
struct rig_listener *rig_listener(struct rig *rig);

/** rig_try_listen - on 0.0.0.0, a port picked; false if it failed */
bool rig_try_listen(struct rig_listener *listener);

/** rig_listen - the same; must not fail */
void rig_listen(struct rig_listener *listener);

/** rig_request - a peer's request, taken; NULL if no connection came of it */
struct rig_conn *rig_request(struct rig_listener *listener);

/** rig_conn_create_to - an active connection to a listener of our own, resolving; for loopback */
struct rig_conn *rig_conn_create_to(struct rig_listener *listener);

/** rig_forget_conns - forget the connections, which have all ended */
void rig_forget_conns(struct rig *rig);

/** rig_loop_connect - two connections to each other, through @listener; loopback is switched on */
void rig_loop_connect(
	struct rig_listener *listener, struct rig_conn **ret_active, struct rig_conn **ret_passive);

/** rig_mem - registered memory of @size_bytes, zeroed */
struct vbd_mem *rig_mem(struct rig *rig, size_t size_bytes, unsigned int access);

/** rig_transfer - one over @rc, not started; its id counts from 1 */
struct rig_transfer *rig_transfer(struct rig_conn *rc, enum vbd_op op, const struct vbd_mem *mem,
	uint64_t length_bytes, uint64_t chunk_bytes);

/** rig_start_transfer - hand it over and let it move */
void rig_start_transfer(struct rig_transfer *rt);

/** rig_cancel_transfer - ask for its end; @late as by a deadline */
void rig_cancel_transfer(struct rig_transfer *rt, bool late);

/** rig_deadline - the deadline that it set passes */
void rig_deadline(struct rig_conn *rc);

/** rig_close - close it and let it drain */
void rig_close(struct rig_conn *rc);

/** rig_release - forget the oldest message */
void rig_release(struct rig_conn *rc);

/** rig_has_entry - does the timeline have "kind what"? */
bool rig_has_entry(const struct rig_conn *rc, enum vbd_timeline_kind kind, const char *what);

/** rig_assert_gone - nothing but the record is left of it */
void rig_assert_gone(const struct rig_conn *rc);

/** rig_assert_cqs_idle - no CQ has users, reservations or outstanding work */
void rig_assert_cqs_idle(struct rig *rig);

/** rig_assert_idle - no connection holds anything: only what the fabric itself keeps is live */
void rig_assert_idle(struct rig *rig);

#endif
