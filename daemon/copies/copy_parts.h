/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of copies:
 *
 *   copy.c        the object; client and server, from the connection to START
 *   copy_send.c     the sender: walks, announces, reads, writes into the peer's window
 *   copy_receive.c  the receiver: judges, takes slots, puts files in place
 *   copy_session.c  messages and slots on the wire, jobs, the state; calls the others by
 *                   session->actions and session->pump
 *
 * Each file calls only those below it in this list. Control thread.
 */
#ifndef VBD_DAEMON_COPIES_COPY_PARTS_H
#define VBD_DAEMON_COPIES_COPY_PARTS_H

#include "daemon/copies/copy.h"
#include "rdma/device/slab.h"

/* Messages on their way to the peer, at most. */
#define VBD_COPY_OUTS 4

/* The entries are kept in pages, whose addresses do not change: jobs use them. */
#define VBD_COPY_PAGE_ITEMS 256

/* Entries that the sender has announced and the receiver has not judged, at most. */
#define VBD_COPY_UNJUDGED_MAX 2048

/* The window that this daemon offers as a receiver. */
#define VBD_COPY_SLOTS	    16
#define VBD_COPY_SLOT_BYTES 1048576

struct vbd_copy_session;

/* An action of the state table; @message: NULL without one. */
typedef void vbd_copy_act_fn(struct vbd_copy_session *session, struct vbd_copy_message *message);

struct vbd_copy_raw {
	const uint8_t *bytes;
	uint32_t len_bytes;
};

struct vbd_copy_out {
	struct vbd_copy_session *session;
	struct vbd_transfer transfer;
	struct vbd_slab_range range; /* the message */
	enum vbd_copy_message_type type;
	bool busy;
};

struct vbd_copy_slot {
	struct vbd_copy_session *session;
	struct vbd_copy_slot_job job;
	struct vbd_transfer transfer; /* sender */
	bool working;		      /* `job` is on the pool */
	bool posted;		      /* sender: `transfer` has not ended */
	bool taken; /* sender: the peer has not freed it; receiver: the peer may not write */
};

/* Numbers of entries that wait for something, in order. */
struct vbd_copy_queue {
	uint32_t *at;
	uint32_t first, count, room; /* a ring */
};

struct vbd_copy_session {
	struct vbd_copy *copy;
	struct vbd_daemon *daemon;
	vbd_copy_act_fn *const *actions; /* by enum vbd_copy_action; NULL: nothing to do */
	void (*pump)(struct vbd_copy_session *session); /* of the role; NULL before START */
	/* Undo what is half done, by a job, when the copy has failed and nothing else runs; NULL */
	void (*clean)(struct vbd_copy_session *session);
	void (*on_end)(struct vbd_copy *copy); /* nothing uses the session any more */
	struct vbd_export *export;
	struct vbd_copy_root root;
	struct vbd_connection *connection; /* NULL once it has ended */
	struct vbd_watch connection_watch;
	struct vbd_buffer *buffer; /* the memory of the slots; NULL before */
	struct vbd_watch buffer_watch;
	void (*on_buffer)(struct vbd_copy_session *session); /* the buffer is ready */
	struct vbd_timer *retry;			     /* of vbd_copy_pump() */
	uint8_t nonce[VBD_COPY_NONCE_BYTES];
	struct vbd_recv_slot *early; /* a message that came before it can be answered */
	struct vbd_copy_raw came;    /* the message HELLO, while it is handled */
	uint8_t *hello;		     /* the same, a copy for the proofs */
	uint32_t hello_bytes;
	struct vbd_deferred end;
	uint8_t proof[VBD_COPY_MAC_BYTES];
	bool prove; /* the secret counts */
	struct vbd_copy_window window;
	struct vbd_copy_out outs[VBD_COPY_OUTS];
	struct vbd_copy_slot *slots; /* window.slots */
	uint32_t jobs;		     /* on the pool */
	uint32_t posted;	     /* transfers with the worker */

	struct vbd_copy_item **pages;
	uint32_t page_count;
	uint32_t items; /* entries so far */
	uint32_t judged;
	bool all_known; /* no entries follow */
	enum vbd_copy_fault walk_fault, aim_fault;
	bool page_busy; /* a walk or a judgement is on the pool, of these: */
	struct vbd_copy_item *page_items;
	uint32_t page_room;

	/* sender */
	struct vbd_copy_walk *walk;
	uint32_t announced;
	bool last_announced;
	uint32_t next; /* entry to read next */
	uint64_t next_offset;
	uint32_t walked; /* by the walk on the pool */
	struct vbd_copy_queue dropped;

	/* receiver */
	uint32_t answered; /* entries whose verdict was sent */
	struct vbd_copy_queue complete, placed;
	struct vbd_copy_item *placing[64];
	uint32_t placing_entries[64];
	uint32_t placing_count;
	uint64_t freed;	  /* a bit for each slot of which FREE is to be sent */
	uint32_t written; /* the slot that TAKE_SLOT is about */
};

/* copy_send.c */
vbd_copy_act_fn vbd_copy_begin_sending, vbd_copy_take_want, vbd_copy_take_free, vbd_copy_take_done,
	vbd_copy_send_end;

/* copy_receive.c */
vbd_copy_act_fn vbd_copy_begin_receiving, vbd_copy_take_entries, vbd_copy_take_dropped,
	vbd_copy_take_slot, vbd_copy_check_end;

/* copy_session.c */

/** vbd_copy_step - an event: set the state, and perform the action; @message: NULL without one */
void vbd_copy_step(struct vbd_copy_session *session, enum vbd_copy_event event,
	struct vbd_copy_message *message);

/** vbd_copy_fault_status - the status of an error for clients */
enum vbd_status vbd_copy_fault_status(enum vbd_copy_fault fault);

/** vbd_copy_fail - the copy can't go on; the first reason counts. printf(3) format. */
void vbd_copy_fail(struct vbd_copy_session *session, enum vbd_copy_fault fault, const char *fmt,
	...) VBD_PRINTF(3, 4);

/** vbd_copy_message - room for a message; NULL while VBD_COPY_OUTS are on their way, or memory is
 * short: vbd_copy_pump() follows when there is room */
struct vbd_copy_out *vbd_copy_message(
	struct vbd_copy_session *session, enum vbd_copy_message_type type);

/** vbd_copy_post - send the message of @len_bytes that was written to out->range.addr */
void vbd_copy_post(struct vbd_copy_out *out, uint32_t len_bytes);

/** vbd_copy_send - encode and send a message of the handshake, for which there is always room */
void vbd_copy_send(struct vbd_copy_session *session, const struct vbd_copy_message *message);

/** vbd_copy_say_bye - tell the peer the fault of the copy, and close the connection */
void vbd_copy_say_bye(struct vbd_copy_session *session);

/** vbd_copy_post_slot - write a filled slot into the peer's window; @len_bytes with the header */
void vbd_copy_post_slot(struct vbd_copy_slot *slot, uint32_t len_bytes);

/** vbd_copy_work - run @work on the pool, then @done, both with @arg; false if that is not
 * possible, when the copy has failed. @done ends with vbd_copy_worked(). */
bool vbd_copy_work(struct vbd_copy_session *session, void (*work)(void *arg),
	void (*done)(void *arg), void *arg);

/** vbd_copy_worked - a job has come back: go on, or end if the copy stops. The session may be freed
 * then. */
void vbd_copy_worked(struct vbd_copy_session *session);

/** vbd_copy_moves - the copy has neither failed nor ended */
bool vbd_copy_moves(const struct vbd_copy_session *session);

/** vbd_copy_pump - do whatever can be done now; call this after anything has changed */
void vbd_copy_pump(struct vbd_copy_session *session);

/** vbd_copy_get_memory - make the slots, and the buffer behind them: @on_buffer follows, also at
 * once
 * @window: slots and slot_bytes; @remote: the peer writes there */
void vbd_copy_get_memory(struct vbd_copy_session *session, bool remote,
	void (*on_buffer)(struct vbd_copy_session *session));

/** vbd_copy_slot_bytes - the memory of a slot */
uint8_t *vbd_copy_slot_bytes(const struct vbd_copy_slot *slot);

/** vbd_copy_item - entry @number, which is below session->items */
struct vbd_copy_item *vbd_copy_item(const struct vbd_copy_session *session, uint32_t number);

/** vbd_copy_items_reserve - make the page of the next entry; NULL without memory, when the copy has
 * failed. Returns the place of that entry; @ret_room: so many places follow each other there */
struct vbd_copy_item *vbd_copy_items_reserve(struct vbd_copy_session *session, uint32_t *ret_room);

/** vbd_copy_item_over - an entry is done, skipped or has failed, as its fault says */
void vbd_copy_item_over(struct vbd_copy_session *session, struct vbd_copy_item *item);

/** vbd_copy_queue_put - false without memory, when the copy has failed */
bool vbd_copy_queue_put(
	struct vbd_copy_session *session, struct vbd_copy_queue *queue, uint32_t number);

/** vbd_copy_queue_take - the first one; false: none */
bool vbd_copy_queue_take(struct vbd_copy_queue *queue, uint32_t *ret_number);

/** vbd_copy_session_begin - attach the session to its connection, whose messages it gets */
void vbd_copy_session_begin(struct vbd_copy_session *session, struct vbd_connection *connection);

/** vbd_copy_session_free - nothing of it is on the pool or with the worker */
void vbd_copy_session_free(struct vbd_copy_session *session);

/** vbd_copy_session_make - NULL with an error */
struct vbd_copy_session *vbd_copy_session_make(struct vbd_copy *copy, struct vbd_error *err);

#endif
