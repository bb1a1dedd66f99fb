/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `desired`: the objects that requests asked to keep, so that the next run makes them.
 */
#ifndef VBD_DAEMON_STORE_DESIRED_TABLE_H
#define VBD_DAEMON_STORE_DESIRED_TABLE_H

#include "base/attr.h"
#include "base/error.h"

#include <stdint.h>

struct vbd_database;
struct vbd_store;

/* The texts are the caller's. */
struct vbd_desired {
	const char *kind;  /* "listener" */
	const char *name;  /* there is one row of a name */
	const char *owner; /* name of the caller; "" for the daemon */
	const char *body;  /* JSON of the request */
};

/* Rows for the control thread, the oldest first. */
struct vbd_desired_rows;

/** vbd_desired_table_load - all rows; the caller frees them; the store's thread */
enum vbd_status vbd_desired_table_load(struct vbd_database *database,
	struct vbd_desired_rows **ret_rows, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_desired_walk - call @cb for each row, the oldest first; NULL: none */
void vbd_desired_walk(const struct vbd_desired_rows *rows,
	void (*cb)(const struct vbd_desired *row, void *arg), void *arg);

/** vbd_desired_free - NULL is fine */
void vbd_desired_free(struct vbd_desired_rows *rows);

/** vbd_desired_put - add a row, which is copied, or replace that of its name; returns the ticket of
 * vbd_store_put(); the control thread */
uint64_t vbd_desired_put(struct vbd_store *store, const struct vbd_desired *row);

/** vbd_desired_drop - delete the row of a name; returns the ticket of vbd_store_put(); the control
 * thread */
uint64_t vbd_desired_drop(struct vbd_store *store, const char *name);

#endif
