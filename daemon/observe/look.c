/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/explain.h"

#include "base/clock.h"
#include "daemon/observe/report.h"

/* At most so many looks run at once, however many connections fail together. */
#define LOOKS_MAX 16

/* A host that sent a disconnect runs, and may be too busy to answer: it is asked so often. */
#define ASKS_MAX 4

struct job {
	struct vbd_daemon *daemon;
	struct vbd_pv_question question; /* dst.ss_family 0: unknown */
	char ibdev_path[256];		 /* "": no device */
	unsigned int ports;
	bool asks;
	struct vbd_look look;
	vbd_look_cb cb;
	void *arg;

	/* The connection whose evidence this is for; NULL: none, or it was freed. */
	struct vbd_connection *connection;
	unsigned int tries;
	bool again; /* look again: the connection's error has become another one */
};

/* Pool thread. */
static void ask_peer(struct job *job)
{
	struct vbd_look *look = &job->look;
	struct vbd_pv_answer answer = {0};

	vbd_pv_ask(&job->question, &answer);
	look->asked = answer.asked;
	look->answered = answer.answered;
	look->rtt_ns = answer.rtt_ns;
	look->replied = vbd_report_choose(&answer, &look->report);
}

/* Pool thread. */
static void run_look(void *arg)
{
	struct job *job = arg;
	struct vbd_look *look = &job->look;
	const struct vbd_pv_question *question = &job->question;

	if (question->dst.ss_family)
		look->netroute_known = vbd_pv_find_netroute((const struct sockaddr *)&question->dst,
					       (const struct sockaddr *)&question->src,
					       &look->netroute, &look->err) == VBD_OK;
	/* Read them before a question adds packets to them. */
	if (*job->ibdev_path) {
		vbd_traces_read(job->ibdev_path, job->ports, look->sample.counters);
		look->sample.at_ns = vbd_clock_mono_ns();
	}
	if (job->asks && look->netroute_known && !look->netroute.route_errnum)
		ask_peer(job);
}

static void end_look(void *arg)
{
	struct job *job = arg;

	/* Keep the counters for the next incident on the device. Without `hotplug` the daemon is
	 * being destroyed. */
	if (job->look.sample.at_ns && job->daemon->hotplug)
		vbd_traces_add(job->daemon, &job->look.sample);
	job->cb(&job->look, job->arg);
	free(job);
}

/* A failure is reported once, since a question to a host that is gone takes 1.5 s. A connection
 * that did not fail has nothing to report: it asks each time, since the peer's answer may
 * change. */
static bool should_send_report(const struct vbd_connection *connection)
{
	return connection->kept ? connection->report_owed : vbd_explain_unheard(connection);
}

static enum vbd_status start_job(struct job *job, struct vbd_daemon *daemon,
	struct vbd_caller *owner, vbd_look_cb cb, void *arg, struct vbd_error *err)
{
	enum vbd_status status;

	if (!job)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to look for a route");
	job->daemon = daemon;
	job->cb = cb;
	job->arg = arg;
	status = vbd_loop_work(daemon->loop, VBD_WORK_OBSERVE, owner, run_look, end_look, job, err);
	if (status)
		free(job);
	return status;
}

/* Returns NULL without memory. */
static struct job *make_job(const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	struct vbd_device *device = vbd_fabric_device(conn->fabric, conn->device.name);
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	if (!vbd_explain_ends(connection, &job->question.src, &job->question.dst))
		job->question.dst.ss_family = AF_UNSPEC;
	else if (should_send_report(connection))
		vbd_report_question(connection, false, &job->question);
	if (device) {
		(void)snprintf(job->look.sample.device, sizeof(job->look.sample.device), "%s",
			device->name);
		(void)snprintf(job->ibdev_path, sizeof(job->ibdev_path), "%s", device->ibdev_path);
		job->ports = device->attr.phys_port_cnt;
	}
	job->asks =
		job->question.count || (job->question.settles && vbd_explain_unheard(connection));
	return job;
}

enum vbd_status vbd_look_begin(
	const struct vbd_connection *connection, vbd_look_cb cb, void *arg, struct vbd_error *err)
{
	return start_job(make_job(connection), connection->object.registry->daemon,
		connection->object.owner, cb, arg, err);
}

enum vbd_status vbd_look_at_route(struct vbd_daemon *daemon, struct vbd_caller *caller,
	const struct sockaddr_storage *dst, const struct sockaddr_storage *src, vbd_look_cb cb,
	void *arg, struct vbd_error *err)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job) {
		job->question.dst = *dst;
		job->question.src = src ? *src : (struct sockaddr_storage){0};
	}
	return start_job(job, daemon, caller, cb, arg, err);
}

/* --- evidence --------------------------------------------------------------------------------- */

static void begin_look(struct vbd_connection *connection, unsigned int tries);

static bool should_look_again(const struct job *job)
{
	return job->again || (vbd_connection_was_left(job->connection) && job->look.asked &&
				     !job->look.answered && job->tries < ASKS_MAX);
}

static void on_evidence_look(const struct vbd_look *look, void *arg)
{
	const struct job *job = arg;
	struct vbd_connection *connection = job->connection;

	if (connection)
		connection->keeping = NULL;
	/* Without `hotplug` the daemon is being destroyed. */
	if (!job->daemon->hotplug)
		return;
	job->daemon->looks_running--;
	if (!connection)
		return;
	if (should_look_again(job))
		begin_look(connection, job->tries + 1);
	vbd_explain_take(connection, look, connection->kept);
	if (look->replied && look->report.known)
		vbd_report_take(connection, &look->report);
	else
		vbd_object_counted(&connection->object);
}

static void begin_look(struct vbd_connection *connection, unsigned int tries)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	struct job *job;

	if (daemon->looks_running >= LOOKS_MAX && !vbd_connection_was_left(connection))
		return;
	connection->report_owed = true;
	job = make_job(connection);
	if (start_job(job, daemon, connection->object.owner, on_evidence_look, job, NULL) != VBD_OK)
		return;
	connection->report_owed = false;
	daemon->looks_running++;
	job->connection = connection;
	job->tries = tries;
	connection->keeping = &job->connection;
}

/* A failed completion after the device moved the queue pair to ERR replaces the error. */
static bool error_has_changed(const struct vbd_connection *connection)
{
	const struct vbd_error *before = &connection->kept->incident.error;
	const struct vbd_error *now = &connection->conn->qp.first_error.error;

	return before->status != now->status || before->source != now->source ||
	       before->kind != now->kind;
}

/* If the error has become another one, report that one to the peer, and keep its transfer among the
 * facts: a client may delete it. */
static void refresh_evidence(struct vbd_connection *connection)
{
	if (!error_has_changed(connection))
		return;
	vbd_explain_incident(connection, NULL, &connection->kept->incident);
	if (connection->keeping) {
		VBD_CONTAINER_OF(connection->keeping, struct job, connection)->again = true;
		return;
	}
	begin_look(connection, 1);
}

void vbd_evidence_keep(struct vbd_connection *connection)
{
	struct vbd_facts *facts;

	if (connection->kept) {
		refresh_evidence(connection);
		return;
	}
	facts = malloc(sizeof(*facts));
	if (!facts)
		return;
	vbd_explain_gather(connection, NULL, facts);
	connection->kept = facts;
	begin_look(connection, 1);
}
