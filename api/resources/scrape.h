/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents of all counters, which are dear to write: /metrics and /v1/stats. A document is written
 * once for all requests that came before its writing began, and that may see the same. It begins
 * with a snapshot of the kernel (daemon/observe/kernel.h), and is written in steps over several
 * turns of the loop.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_SCRAPE_H
#define VBD_API_RESOURCES_SCRAPE_H

#include "api/http/request.h"
#include "base/list.h"
#include "daemon/core/turns.h"
#include "daemon/core/watch.h"

struct vbd_api;

/* Longest wait for a snapshot. */
#define VBD_SCRAPE_SNAPSHOT_TIMEOUT_MS 3000

/* The first member of the struct of a kind. */
struct vbd_scrape {
	const struct vbd_scrape_kind *kind;
	struct vbd_api *api;
	/* The document tells what this caller sees; NULL: all. Referenced. */
	struct vbd_caller *scope;
	unsigned int parts; /* of the document, that the requests ask for; of the kind */
	bool fresh;	    /* false: the kernel's numbers are of an older snapshot */
	size_t n_requests;  /* that get the document, and that wait for this only */
	/* The document, set by the last step; NULL without memory. */
	struct vbd_document *body;

	/* The rest is of scrape.c. */
	struct vbd_link requests;
	struct vbd_link link; /* in `scrapes` of the API until the first step */
	struct vbd_steps steps;
	struct vbd_watch watch; /* of the snapshots */
	struct vbd_timer *timeout;
	bool written; /* the requests are being answered */
	uint64_t snapshot;
};

struct vbd_scrape_kind {
	size_t size_bytes; /* of the struct whose first member is a struct vbd_scrape */
	/* Write a part of the document. Returns true after the last one. */
	bool (*step)(struct vbd_scrape *scrape);
	/* Answer a request with `body`. */
	void (*reply)(struct vbd_request *req, const struct vbd_scrape *scrape);
	/* Free what the kind's own members hold; NULL: nothing. */
	void (*free)(struct vbd_scrape *scrape);
};

/**
 * vbd_scrape_answer - answer with the document, when it is written
 *
 * If too many requests wait, the request is answered at once, with a document of its own that has
 * an older snapshot of the kernel.
 */
void vbd_scrape_answer(
	struct vbd_request *req, const struct vbd_scrape_kind *kind, unsigned int parts);

#endif
