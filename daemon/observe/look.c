/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/look.h"

#include "base/clock.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/core/traces.h"
#include "daemon/observe/explain.h"
#include "daemon/observe/report.h"
#include "rdma/device/port_counters.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>

/* An open connection asks its peer again after this time. */
#define ANSWER_FRESH_NS (2 * VBD_NS_PER_S)

/* A knock takes a thread of the pool for up to 1.5 s; the others have more to do. */
#define KNOCKS_MAX 2

struct job {
	struct vbd_daemon *daemon;
	char device[64];
	struct vbd_pv_question question; /* dst.ss_family 0: unknown */
	char ibdev_path[256];		 /* "": no device */
	unsigned int ports;
	bool over_tcp;
	bool knocks;
	size_t packet_bytes; /* of RoCE v2, with the path MTU; 0: unknown */
	struct vbd_look look;
	vbd_look_cb cb;
	void *arg;
};

/* Pool thread. */
static void speak(struct job *job)
{
	struct vbd_look *look = &job->look;
	struct vbd_pv_answer answer = {0};

	if (job->knocks)
		vbd_pv_knock(&job->question, look->netroute.local, job->packet_bytes, &look->knock,
			&answer);
	else if (job->question.count)
		vbd_pv_ask_end(vbd_pv_ask_begin(&job->question), &answer);
	look->asked = answer.asked;
	look->answered = answer.answered;
	look->replied = vbd_report_choose(&answer, &look->report);
}

/* Pool thread. */
static void work(void *arg)
{
	struct job *job = arg;
	struct vbd_look *look = &job->look;
	const struct vbd_pv_question *question = &job->question;

	/* Before the end of the connection has closed it. */
	look->tcp_found =
		job->over_tcp && vbd_tcp_socket_find((const struct sockaddr *)&question->src,
					 (const struct sockaddr *)&question->dst, &look->tcp);
	if (question->dst.ss_family)
		look->netroute_known = vbd_pv_find_netroute((const struct sockaddr *)&question->dst,
					       (const struct sockaddr *)&question->src,
					       &look->netroute, NULL) == VBD_OK;
	/* Before the packets of a knock. */
	if (*job->ibdev_path) {
		vbd_traces_read(job->ibdev_path, job->ports, look->counters);
		look->counted_ns = vbd_clock_mono_ns();
		look->counted = true;
	}
	if (look->netroute_known && !look->netroute.route_errnum)
		speak(job);
}

static void done(void *arg)
{
	struct job *job = arg;
	struct vbd_trace_sample sample = {.at_ns = job->look.counted_ns};

	if (job->knocks && job->daemon->hotplug)
		job->daemon->knocks_running--;
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

/* The answer at the first error is kept: the peer may be up again. */
static bool may_knock(const struct vbd_connection *connection)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;

	return daemon->knocks_running < KNOCKS_MAX && vbd_explain_unheard(connection) &&
	       !(connection->kept && connection->kept->netroute_known);
}

/* A full packet after UDP's header: 12 bytes of header before the data, and 4 of checksum. */
static size_t packet_bytes(const struct vbd_qp_info *info)
{
	return info->path_known && !info->iwarp ? info->path_mtu_bytes + 16U : 0;
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

/* A message of the CM would make some devices deaf: see rdma/device/port_counters.h. */
static void prepare_question(const struct vbd_connection *connection, struct vbd_device *device,
	struct vbd_pv_question *question)
{
	if (device && device->state == VBD_DEVICE_PRESENT && !vbd_cm_must_not_send(device) &&
		is_to_report(connection))
		vbd_report_question(connection, question);
}

/* Only a connection over siw whose peer has not answered yet has a socket that tells something. */
static bool awaits_tcp(const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;

	return !conn->passive && !conn->established_ns && conn->qp.device &&
	       vbd_device_is_soft_iwarp(conn->qp.device);
}

enum vbd_status vbd_look_begin(
	const struct vbd_connection *connection, vbd_look_cb cb, void *arg, struct vbd_error *err)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	struct vbd_device *device =
		vbd_fabric_device(daemon->fabric, connection->conn->device_name);
	struct job *job = calloc(1, sizeof(*job));
	enum vbd_status status;

	if (!job)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to look for a route");
	if (vbd_explain_ends(connection, &job->question.src, &job->question.dst))
		prepare_question(connection, device, &job->question);
	else
		job->question.dst.ss_family = AF_UNSPEC;
	job->daemon = daemon;
	if (device) {
		memcpy(job->device, device->name, sizeof(job->device));
		(void)snprintf(job->ibdev_path, sizeof(job->ibdev_path), "%s", device->ibdev_path);
		job->ports = device->attr.phys_port_cnt;
	}
	job->cb = cb;
	job->arg = arg;
	job->packet_bytes = packet_bytes(&connection->conn->qp.info);
	job->over_tcp = job->question.dst.ss_family && awaits_tcp(connection);
	job->knocks = may_knock(connection) && job->question.dst.ss_family;
	status = vbd_loop_work(
		daemon->loop, VBD_WORK_OBSERVE, connection->object.owner, work, done, job, err);
	if (status)
		free(job);
	else if (job->knocks)
		daemon->knocks_running++;
	return status;
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

void vbd_look_take(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_trace_sample *before = NULL;
	struct sockaddr_storage local, peer;
	uint64_t since_ns = facts->incident.since_ns ? facts->incident.since_ns : conn->created_ns;

	facts->knock = look->knock;
	if (look->netroute_known)
		vbd_explain_netroute(daemon, &look->netroute, facts);
	if (look->netroute_known && vbd_explain_ends(connection, &local, &peer))
		vbd_explain_dead_port(daemon, (const struct sockaddr *)&peer, facts);
	if (look->tcp_found && facts->incident.tcp_open) {
		facts->incident.tcp_unread_bytes = look->tcp.unread_bytes;
		facts->incident.tcp_hung_up = look->tcp.hung_up;
	}
	if (look->counted)
		before = vbd_traces_before(daemon, conn->device_name, since_ns);
	if (before && before->at_ns < look->counted_ns)
		take_counters(look, before, &facts->incident);
	facts->incident.traces[VBD_TRACE_MRA_CAME] =
		answers_beyond(connection, facts->incident.traces[VBD_TRACE_MRA_CAME]);
}

void vbd_look_take_reply(const struct vbd_connection *connection, const struct vbd_look *look,
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

/* A host with more sockets than this is not searched to the end. */
#define LINES_MAX  65536
#define LINE_BYTES 256

/* Address and port as the kernel writes them: the words of the address in the order of this host's
 * bytes, then the port (get_tcp4_sock() and get_tcp6_sock(), kernel 6.1). */
#define END_BYTES 40

static bool write_end(const struct sockaddr *addr, char text[END_BYTES])
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)addr;
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)addr;
	uint32_t words[4];

	if (addr->sa_family == AF_INET && four->sin_port) {
		(void)snprintf(text, END_BYTES, "%08" PRIX32 ":%04X", four->sin_addr.s_addr,
			(unsigned int)ntohs(four->sin_port));
		return true;
	}
	if (addr->sa_family != AF_INET6 || !six->sin6_port)
		return false;
	memcpy(words, &six->sin6_addr, sizeof(words));
	(void)snprintf(text, END_BYTES, "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 ":%04X",
		words[0], words[1], words[2], words[3], (unsigned int)ntohs(six->sin6_port));
	return true;
}

/* The end of what the peer sends counts as one byte that nobody has read. */
bool vbd_tcp_socket_read(const char *line, const struct sockaddr *local,
	const struct sockaddr *peer, struct vbd_tcp_socket *ret_socket)
{
	char local_end[END_BYTES], peer_end[END_BYTES];
	char line_local[END_BYTES], line_peer[END_BYTES];
	unsigned int state, unread_bytes;

	if (!write_end(local, local_end) || !write_end(peer, peer_end) ||
		sscanf(line, " %*u: %39s %39s %2x %*8x:%8x", line_local, line_peer, &state,
			&unread_bytes) != 4 ||
		strcmp(line_local, local_end) != 0 || strcmp(line_peer, peer_end) != 0 ||
		(state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT))
		return false;
	ret_socket->hung_up = state == TCP_CLOSE_WAIT;
	ret_socket->unread_bytes = unread_bytes - (ret_socket->hung_up && unread_bytes);
	return true;
}

bool vbd_tcp_socket_find(const struct sockaddr *local, const struct sockaddr *peer,
	struct vbd_tcp_socket *ret_socket)
{
	FILE *table = fopen(peer->sa_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
	char line[LINE_BYTES];
	bool found = false;

	if (!table)
		return false;
	for (unsigned int i = 0; !found && i < LINES_MAX && fgets(line, sizeof(line), table); i++)
		found = vbd_tcp_socket_read(line, local, peer, ret_socket);
	(void)fclose(table);
	return found;
}

struct query {
	struct sockaddr_storage dst, src;
	struct vbd_pv_netroute netroute;
	struct vbd_error err;
	enum vbd_status status;
	vbd_netroute_cb cb;
	void *arg;
};

/* Pool thread. */
static void ask_kernel(void *arg)
{
	struct query *query = arg;

	query->status = vbd_pv_find_netroute((const struct sockaddr *)&query->dst,
		(const struct sockaddr *)&query->src, &query->netroute, &query->err);
}

static void tell_route(void *arg)
{
	struct query *query = arg;

	query->cb(query->status ? NULL : &query->netroute, &query->err, query->arg);
	free(query);
}

enum vbd_status vbd_netroute_find(struct vbd_daemon *daemon, const struct sockaddr_storage *dst,
	const struct sockaddr_storage *src, vbd_netroute_cb cb, void *arg, struct vbd_error *err)
{
	struct query *query = calloc(1, sizeof(*query));
	enum vbd_status status;

	if (!query)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to look for a route");
	query->dst = *dst;
	if (src)
		query->src = *src;
	query->cb = cb;
	query->arg = arg;
	status = vbd_loop_work(daemon->loop, VBD_WORK_OBSERVE, daemon->callers.current, ask_kernel,
		tell_route, query, err);
	if (status)
		free(query);
	return status;
}
