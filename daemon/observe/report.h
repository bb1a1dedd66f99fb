/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports that verbsd exchanges with the verbsd of a peer: see rdma/fabric/report.h.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_REPORT_H
#define VBD_DAEMON_OBSERVE_REPORT_H

#include "daemon/connections/connections.h"
#include "daemon/core/context.h"
#include "rdma/fabric/report.h"
#include "rdma/provider/ask.h"

/** vbd_report_question - set the question to the verbsd of the peer about @connection, with the
 * report of this side; `count` stays 0 if it can't be asked: the configuration says no, the queue
 * pairs are not known, or the connection is over iWARP; `settles` stays NULL if nobody can be asked
 * @stopping: the connection is about to end because the daemon stops */
void vbd_report_question(
	const struct vbd_connection *connection, bool stopping, struct vbd_pv_question *question);

/** vbd_report_choose - the reply that matters: of the verbsd that knows the connection, else of the
 * one that was started last, since several may run on the host; false if none came. Any thread. */
bool vbd_report_choose(const struct vbd_pv_answer *answer, struct vbd_report *ret_report);

/** vbd_report_answer - the verbsd at @peer reports on a connection of @device_name: keep that, and
 * set @ret_ours to the report of this side. False if this daemon has nothing to answer: it asks
 * itself about a connection to another verbsd of this host, or the host of @peer reports too often.
 * `reports_refused` of the daemon counts reports that come too often, and those of a refused
 * request while the device here has refused none on that connection. */
bool vbd_report_answer(struct vbd_daemon *daemon, const struct sockaddr *peer,
	const char *device_name, const struct vbd_report *theirs, struct vbd_report *ret_ours);

/** vbd_report_take - keep what the peer has reported, call the watches, and judge once the request
 * for which the device here refused the peer. Either side may ask first, and the device here may
 * refuse before or after that: each report is a chance to judge. */
void vbd_report_take(struct vbd_connection *connection, const struct vbd_report *theirs);

/*
 * A farewell: a daemon that stops reports that to the verbsd of its peers, which can't ask it later
 * why their connections ended. A call thread sends the reports while the connections are closed.
 */

/* Only so many connections, the newest, are reported: no more requests may wait in a peer's kernel
 * (rdma/fabric/report.c). */
#define VBD_FAREWELLS_MAX 64

/* A silent peer delays the end of the daemon by no more, or by an eighth of shutdown_timeout_ms. */
#define VBD_FAREWELL_MS 400

/** vbd_farewell_begin - report to the peers of established connections that these are about to be
 * closed. The daemon has not stopped before that is done. */
void vbd_farewell_begin(struct vbd_daemon *daemon);

#endif
