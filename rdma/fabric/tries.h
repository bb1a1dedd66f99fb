/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of the tries to reach a host: each of its addresses in turn, each with its part of the
 * time that is left, and all of them again while nobody answers. It makes no call of the CM.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_FABRIC_TRIES_H
#define VBD_RDMA_FABRIC_TRIES_H

#include "base/addr.h"

/* Between the last address of a round of tries and the first one of the next round: a failure may
 * come at once. */
#define VBD_TRIES_REST_MS 500

struct vbd_tries {
	struct sockaddr_storage addrs[VBD_ADDRS_MAX]; /* of this round, in the order of tries */
	size_t addr_count;
	size_t at;	     /* of the address that is tried; addr_count while there is none */
	bool named;	     /* of a host name */
	bool away;	     /* an address of this round may answer later */
	bool ever_away;	     /* an address of any round */
	bool resting;	     /* between two rounds, and nothing of the try before is left */
	unsigned int count;  /* tries that began */
	uint64_t began_ns;   /* of the caller's time */
	uint64_t timeout_ms; /* the caller's time */
	uint64_t slice_ms;   /* the part of it that this try has; 0: all that is left */
	/* The failed try that got furthest, the newest of several: how far (-1: none), whether only
	 * the end of its time ended it, why, and its address (ss_family 0: none). */
	int furthest;
	bool late;
	struct vbd_error error;
	struct sockaddr_storage error_addr;
};

/** vbd_tries_init - no try yet. @began_ns: monotonic, of @timeout_ms */
void vbd_tries_init(struct vbd_tries *tries, uint64_t began_ns, uint64_t timeout_ms);

/** vbd_tries_set - begin a round with 1 to VBD_ADDRS_MAX addresses; @named: of a host name */
void vbd_tries_set(
	struct vbd_tries *tries, const struct sockaddr_storage *addrs, size_t count, bool named);

/** vbd_tries_addr - the address that is tried; NULL while a name is looked up */
const struct sockaddr_storage *vbd_tries_addr(const struct vbd_tries *tries);

/** vbd_tries_left_ms - the rest of the caller's time */
uint64_t vbd_tries_left_ms(const struct vbd_tries *tries);

/** vbd_tries_begin - count a try of the present address; returns the time that it has, at least 1
 * ms */
uint64_t vbd_tries_begin(struct vbd_tries *tries);

/** vbd_tries_is_given_up - has the CM given up a try: is @why (NULL: unknown) an event that says
 * so? */
bool vbd_tries_is_given_up(const struct vbd_error *why);

/** vbd_tries_go_on - the try has failed by @error (NULL: unknown), or if @late by the end of its
 * time: does another one follow? */
bool vbd_tries_go_on(struct vbd_tries *tries, bool late, const struct vbd_error *error);

/** vbd_tries_keep - keep @error of a try that got so @far, unless another one got further; false if
 * it is not kept. @late: as of vbd_tries_go_on() */
bool vbd_tries_keep(struct vbd_tries *tries, int far, bool late, const struct vbd_error *error);

/**
 * vbd_tries_end - no try follows the one that got so @far and ended by *@why (NULL: unknown)
 * @late: as of vbd_tries_go_on(); @over: there was no time for another try
 *
 * Of a host name or after several tries, *@why becomes the error of the try that got furthest, with
 * its address and the number of tries. Returns whether that is an earlier one.
 */
bool vbd_tries_end(
	struct vbd_tries *tries, int far, bool late, bool over, const struct vbd_error **why);

/** vbd_tries_rest_ms - the time until the next try; 0: it is another address of this round */
uint64_t vbd_tries_rest_ms(const struct vbd_tries *tries);

/** vbd_tries_next - go to the next address, or to the first one of another round; false if a name
 * has to be looked up before, which has all the time that is left. @look_up: that is possible */
bool vbd_tries_next(struct vbd_tries *tries, bool look_up);

#endif
