/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as the text of server-sent events. The text of an event is the same for all who follow,
 * so it is made once, and shared.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_EVENT_TEXT_H
#define VBD_API_RESOURCES_EVENT_TEXT_H

#include "base/attr.h"

struct vbd_daemon;
struct vbd_event;

/* Enough for followers that lag by some blocks; a slower one has the text made again. */
#define VBD_EVENT_TEXTS 64

struct vbd_event_text {
	unsigned int refs;
	size_t len_bytes;
	char *bytes; /* not terminated */
};

/* The texts of the newest events that were asked for, with a reference to each. */
struct vbd_event_texts {
	struct {
		uint64_t seq;
		struct vbd_event_text *text; /* NULL: none */
	} slots[VBD_EVENT_TEXTS];
};

/** vbd_event_text_print - a new text, with one reference, which the caller owns; NULL without
 * memory
 */
struct vbd_event_text *vbd_event_text_print(const char *fmt, ...) VBD_PRINTF(1, 2);

/** vbd_event_text_of - the text of an event, which all callers share; each owns a reference; NULL
 * without memory */
struct vbd_event_text *vbd_event_text_of(struct vbd_event_texts *texts,
	const struct vbd_daemon *daemon, const struct vbd_event *event);

/** vbd_event_text_unref - give back a reference; NULL is fine */
void vbd_event_text_unref(struct vbd_event_text *text);

/** vbd_event_texts_fini - give back the references to all texts */
void vbd_event_texts_fini(struct vbd_event_texts *texts);

#endif
