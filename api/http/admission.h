/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which clients may connect, wait and follow. There are seats for a number of clients; a source (an
 * address, or a uid on the unix socket) has a share of them. A client that has shown no credential
 * is a stranger: when the seats are taken, the next client gets the seat of a stranger: of one of
 * the same source if there is any, and of these the one who came first.
 *
 * When no stranger can be sent away, a client gets a seat of the reserve. There it is served only
 * if it has the role "control" or asks for nothing that needs a role, so that neither a flood of
 * strangers nor many readers lock out whoever has to look after the daemon.
 *
 * Pure: no sockets, no clock. Control thread.
 */
#ifndef VBD_API_HTTP_ADMISSION_H
#define VBD_API_HTTP_ADMISSION_H

#include "base/list.h"

#include <sys/socket.h>

struct vbd_admission;
struct vbd_source;

struct vbd_admission_limits {
	unsigned int seats;	       /* without the reserve */
	unsigned int seats_per_source; /* without the reserve */
	unsigned int reserve;
	unsigned int waiting; /* requests that wait */
	unsigned int feeds;   /* answers without end */
};

/* A source: the whole loopback is one, and so is a /64 of IPv6, which usually is one host's. */
struct vbd_source_key {
	uint8_t bytes[12]; /* family, then address or uid; compared as a whole */
};

/* Embedded in a client. Its members belong to admission.c, which sets them all. */
struct vbd_seat {
	struct vbd_link by_age;		  /* among all strangers; empty if known */
	struct vbd_link by_age_in_source; /* among those of the source; empty if known */
	struct vbd_source *source;	  /* NULL: the seat is given up */
	bool in_reserve;
	bool known;
};

/* The two kinds of shares, whose numbers are limited: see vbd_share_take(). */
enum vbd_share {
	VBD_SHARE_WAITING,
	VBD_SHARE_FEEDS,
	VBD_SHARE_COUNT,
};

enum vbd_share_refusal {
	VBD_SHARE_GRANTED,
	VBD_SHARE_USED_UP,   /* all are taken */
	VBD_SHARE_KEPT,	     /* the rest is for the role "control" */
	VBD_SHARE_OF_SOURCE, /* the client's source has as many as it may */
	VBD_SHARE_OF_CALLER, /* the client's caller has as many as it may */
};

/** vbd_source_of_address - the key of a TCP client; @addr: AF_INET, or AF_INET6 but not mapped */
struct vbd_source_key vbd_source_of_address(const struct sockaddr_storage *addr);

/** vbd_source_of_uid - the key of a client on the unix socket */
struct vbd_source_key vbd_source_of_uid(uid_t uid);

/** vbd_admission_create - owned by the caller; NULL without memory */
struct vbd_admission *vbd_admission_create(const struct vbd_admission_limits *limits);

/** vbd_admission_destroy - free; all seats are given up; NULL is fine */
void vbd_admission_destroy(struct vbd_admission *admission);

/**
 * vbd_seat_take - seat a client that has just connected, as a stranger
 * @ret_victim: the seat, already given up, of the stranger who must be disconnected now; or NULL
 *
 * Returns false if there is no seat: the client must be refused.
 */
bool vbd_seat_take(struct vbd_admission *admission, const struct vbd_source_key *key,
	struct vbd_seat *seat, struct vbd_seat **ret_victim);

/** vbd_seat_oldest_stranger - give up the seat of the stranger who came first; NULL if none */
struct vbd_seat *vbd_seat_oldest_stranger(struct vbd_admission *admission);

/** vbd_seat_set_tried - a stranger had an answer, and is the first to go: one that has just come
 * may have a credential that it had no time to show */
void vbd_seat_set_tried(struct vbd_admission *admission, struct vbd_seat *seat);

/** vbd_seat_set_known - the client has shown a credential: it is no stranger any more */
void vbd_seat_set_known(struct vbd_seat *seat);

/**
 * vbd_seat_may_ask - false if a client may ask only for what a seat of the reserve allows
 *
 * Moves the client out of the reserve if a seat has become free. True for each client outside it.
 */
bool vbd_seat_may_ask(struct vbd_admission *admission, struct vbd_seat *seat);

/** vbd_seat_give_up - when the client is gone; does nothing the second time */
void vbd_seat_give_up(struct vbd_admission *admission, struct vbd_seat *seat);

/**
 * vbd_share_take - count one more waiting request or feed of a client, if the limits allow it
 * @control:   the client has the role "control"
 * @of_caller: the number that the caller has without that role, counted here; NULL: no caller
 *
 * 1. All clients together have at most `waiting` or `feeds` of the limits.
 * 2. Clients without the role "control" have three quarters of it; a quarter is for the role.
 * 3. Clients of one source, without the role, have half of it.
 * 4. Clients of one caller, without the role and from all its sources, have half of it.
 */
enum vbd_share_refusal vbd_share_take(struct vbd_admission *admission, struct vbd_seat *seat,
	enum vbd_share share, bool control, uint32_t *of_caller);

/** vbd_share_give_back - @control, @of_caller: as it was taken */
void vbd_share_give_back(struct vbd_admission *admission, struct vbd_seat *seat,
	enum vbd_share share, bool control, uint32_t *of_caller);

/** vbd_share_max - how many there can be before a refusal for that reason */
unsigned int vbd_share_max(const struct vbd_admission *admission, enum vbd_share share,
	enum vbd_share_refusal refusal);

/** vbd_share_count - how many are taken by all clients */
unsigned int vbd_share_count(const struct vbd_admission *admission, enum vbd_share share);

#endif
