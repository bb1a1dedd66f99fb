/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/explain.h"

#include "base/clock.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/core/traces.h"
#include "daemon/observe/report.h"

/* An open connection asks its peer again after this time. */
#define ANSWER_FRESH_NS (2 * VBD_NS_PER_S)

struct job {
	struct vbd_daemon *daemon;
	char device[64];
	struct vbd_pv_question question; /* dst.ss_family 0: unknown */
	char ibdev_path[256];		 /* "": no device */
	unsigned int ports;
	bool asks;
	struct vbd_look look;
	vbd_look_cb cb;
	void *arg;
};

/* Pool thread. */
static void speak(struct job *job)
{
	struct vbd_look *look = &job->look;
	struct vbd_pv_answer answer = {0};

	vbd_pv_ask_end(vbd_pv_ask_begin(&job->question), &answer);
	look->asked = answer.asked;
	look->answered = answer.answered;
	look->rtt_ns = answer.rtt_ns;
	look->replied = vbd_report_choose(&answer, &look->report);
}

/* Pool thread. */
static void work(void *arg)
{
	struct job *job = arg;
	struct vbd_look *look = &job->look;
	const struct vbd_pv_question *question = &job->question;

	if (question->dst.ss_family)
		look->netroute_known = vbd_pv_find_netroute((const struct sockaddr *)&question->dst,
					       (const struct sockaddr *)&question->src,
					       &look->netroute, &look->err) == VBD_OK;
	/* Before the packets of a question. */
	if (*job->ibdev_path) {
		vbd_traces_read(job->ibdev_path, job->ports, look->counters);
		look->counted_ns = vbd_clock_mono_ns();
		look->counted = true;
	}
	if (job->asks && look->netroute_known && !look->netroute.route_errnum)
		speak(job);
}

static void done(void *arg)
{
	struct job *job = arg;
	struct vbd_trace_sample sample = {.at_ns = job->look.counted_ns};

	/* The next incident on the device is compared with these. Without `hotplug` the daemon is
	 * being destroyed. */
	if (job->look.counted && job->daemon->hotplug) {
		memcpy(sample.device, job->device, sizeof(sample.device));
		memcpy(sample.counters, job->look.counters, sizeof(sample.counters));
		vbd_traces_add(job->daemon, &sample);
	}
	job->cb(&job->look, job->arg);
	free(job);
}

/* One report is enough for an end: a host that is gone costs each question 1.5 s. A connection that
 * did not fail has none to make, and asks when somebody wants to know; while it is open, the peer's
 * answer may change. */
static bool is_to_report(const struct vbd_connection *connection)
{
	const struct vbd_peer_report *report = connection->peer_report;
	bool open = connection->conn->qp.reason == VBD_REASON_NONE;

	if (connection->kept)
		return connection->report_owed;
	if (report && report->answered_ns &&
		(!open || vbd_clock_mono_ns() - report->answered_ns < ANSWER_FRESH_NS))
		return false;
	return vbd_explain_unheard(connection);
}

static enum vbd_status start(struct job *job, struct vbd_daemon *daemon, struct vbd_caller *owner,
	vbd_look_cb cb, void *arg, struct vbd_error *err)
{
	enum vbd_status status;

	job->daemon = daemon;
	job->cb = cb;
	job->arg = arg;
	status = vbd_loop_work(daemon->loop, VBD_WORK_OBSERVE, owner, work, done, job, err);
	if (status)
		free(job);
	return status;
}

enum vbd_status vbd_look_begin(
	const struct vbd_connection *connection, vbd_look_cb cb, void *arg, struct vbd_error *err)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	struct vbd_device *device =
		vbd_fabric_device(daemon->fabric, connection->conn->device.name);
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to look for a route");
	if (!vbd_explain_ends(connection, &job->question.src, &job->question.dst))
		job->question.dst.ss_family = AF_UNSPEC;
	else if (is_to_report(connection))
		vbd_report_question(connection, false, &job->question);
	if (device) {
		(void)snprintf(job->device, sizeof(job->device), "%s", device->name);
		(void)snprintf(job->ibdev_path, sizeof(job->ibdev_path), "%s", device->ibdev_path);
		job->ports = device->attr.phys_port_cnt;
	}
	job->asks =
		job->question.count || (job->question.settles && vbd_explain_unheard(connection));
	return start(job, daemon, connection->object.owner, cb, arg, err);
}

enum vbd_status vbd_look_at_route(struct vbd_daemon *daemon, struct vbd_caller *caller,
	const struct sockaddr_storage *dst, const struct sockaddr_storage *src, vbd_look_cb cb,
	void *arg, struct vbd_error *err)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to look for a route");
	job->question.dst = *dst;
	if (src)
		job->question.src = *src;
	return start(job, daemon, caller, cb, arg, err);
}

/* The requests of other connections are answered as well, and the counters are those of the device:
 * with as many others under way an answer may be theirs. */
static uint64_t answers_beyond(const struct vbd_connection *connection, uint64_t answers)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	uint64_t others = daemon->connections_in_state[VBD_CONN_CONNECTING];

	if (connection->in_state && connection->counted_state == VBD_CONN_CONNECTING)
		others--;
	return answers > others ? answers : 0;
}

static void take_counters(const struct vbd_look *look, const struct vbd_trace_sample *before,
	struct vbd_incident *incident)
{
	incident->traces_known = true;
	incident->traces_over_ms = (look->counted_ns - before->at_ns) / VBD_NS_PER_MS;
	for (size_t i = 0; i < VBD_TRACE_COUNT; i++)
		incident->traces[i] = look->counters[i] > before->counters[i]
					      ? look->counters[i] - before->counters[i]
					      : 0;
}

static void take_reply(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts)
{
	uint64_t since_ns = connection->conn->established_ns;

	if (!look->replied)
		return;
	facts->peer_replied = true;
	facts->peer_anew = since_ns && look->report.uptime_ms <
					       (vbd_clock_mono_ns() - since_ns) / VBD_NS_PER_MS;
	if (look->report.known)
		facts->peer_report = look->report;
}

void vbd_look_take(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_trace_sample *before = NULL;
	struct sockaddr_storage local, peer;
	bool known;
	uint64_t since_ns = facts->incident.since_ns ? facts->incident.since_ns : conn->created_ns;

	take_reply(connection, look, facts);
	/* A second look finds counters that have gone on. */
	if (connection->kept && facts->netroute_known)
		return;
	facts->asked = look->asked;
	facts->answered = look->answered;
	facts->rtt_ns = look->rtt_ns;
	known = vbd_explain_ends(connection, &local, &peer);
	if (look->netroute_known)
		vbd_explain_netroute(daemon, &look->netroute,
			known ? (const struct sockaddr *)&peer : NULL, facts);
	if (look->counted)
		before = vbd_traces_before(daemon, conn->device.name, since_ns);
	if (before && before->at_ns < look->counted_ns)
		take_counters(look, before, &facts->incident);
	facts->incident.traces[VBD_TRACE_MRA_CAME] =
		answers_beyond(connection, facts->incident.traces[VBD_TRACE_MRA_CAME]);
}
