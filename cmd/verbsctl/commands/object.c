/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of objects: where they are, and what lists and sentences show of them; and list, show,
 * create, set, cancel, rm and wait, for all of them. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#include "base/clock.h"

const struct vbd_ctl_noun vbd_ctl_nouns[] = {
	{"connections", "reliable and unreliable connections", "/v1/connections", "connection",
		.columns = "ID=id NAME=name STATE=state SIDE=side PEER=peer SERVICE=service "
			   "LQPN=qp_attr.lqpn RQPN=qp_attr.rqpn SENT=counters:sent "
			   "RECV=counters:received END-CODE=end_code EARLIER-RUN=server_id",
		.brief = "{state} with {peer}, QP {qp_attr.lqpn} -> {qp_attr.rqpn}, service "
			 "{service}",
		.under_way = "queued resolving_addr resolving_route connecting retrying requested "
			     "accepting awaiting_remote",
		.good_state = "established", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"listeners", "addresses on which connections are accepted", "/v1/listeners", "listener",
		.columns = "ID=id NAME=name STATE=state ADDRESS=addr,port:endpoint DEVICE=device "
			   "ACCEPT=accept SERVICE=service REQUESTS=requests ACCEPTED=accepted "
			   "REJECTED=rejected WAITING=waiting",
		.brief = "{state} at {addr,port:endpoint}, accept {accept}, service {service}",
		.good_state = "listening"},
	{"buffers", "registered memory", "/v1/buffers", "buffer",
		.columns = "ID=id NAME=name STATE=state SIZE=size_bytes KIND=kind ACCESS=access "
			   "DEVICE=device USERS=user_count",
		.good_state = "ready", .alias = "buf"},
	{"kept-objects", "objects that verbsd makes again when they have gone", "/v1/kept_objects",
		"kept_object",
		.columns = "ID=id NAME=name KIND=kind STATE=state SOURCE=source OBJECT=object_id "
			   "TRIES=tries NEXT-TRY=next_try_at ERROR=error.detail",
		.good_state = "up"},
	{"windows", "memory windows: parts of buffers that peers can reach", "/v1/windows",
		"window",
		.columns = "ID=id NAME=name STATE=state TYPE=type BUFFER=buffer CONN=connection "
			   "OFFSET=buffer_offset_bytes:text SIZE=size_bytes ACCESS=access",
		.good_state = "ready", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"transfers", "writes, reads, sends, receives and atomics", "/v1/transfers", "transfer",
		.columns = "ID=id STATE=state OP=op CONN=connection BUFFER=buffer "
			   "LENGTH=length_bytes DONE=bytes_done WRS=wrs_done QUEUED=queue_ns "
			   "WIRE=wire_ns RATE=bytes_done,wire_ns:rate ERROR=error.code",
		.under_way = "queued running cancelling", .good_state = "done",
		.delete_wait_s = VBD_CTL_END_WAIT_S},
	{"transfer-batches", "transfers that start together", "/v1/transfer_batches",
		"transfer_batch",
		.columns = "ID=id STATE=state QUEUED=counts.queued RUNNING=counts.running "
			   "DONE=counts.done FAILED=counts.failed CANCELLED=counts.cancelled "
			   "TIMEDOUT=counts.timed_out ERROR=error.code",
		.brief = "{state}: {counts.done} done, {counts.failed} failed, {counts.cancelled} "
			 "cancelled, {counts.timed_out} timed out, {counts.running} running",
		.under_way = "running", .good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"connection-batches", "connections that are made together", "/v1/connection_batches",
		"connection_batch",
		.columns = "ID=id STATE=state QUEUED=counts.queued CONNECTING=counts.connecting "
			   "ESTABLISHED=counts.established FAILED=counts.failed ERROR=error.detail",
		.brief = "{state}: {counts.established} established, {counts.failed} failed, "
			 "{counts.connecting} connecting, {counts.queued} queued",
		.under_way = "running", .good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"copies", "copies of files between hosts", "/v1/copies", "copy",
		.columns = "ID=id STATE=state ROLE=role FROM=source.export PATH=source.path "
			   "TO=destination.export PATH=destination.path FILES=files "
			   "DONE=files_done FAILED=files_failed BYTES=bytes_done "
			   "BYTES/S=bytes_per_s FAULT=fault",
		.under_way = "connecting await_challenge await_ready preparing sending receiving "
			     "finishing confirming closing stopping cancelling",
		.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"probes", "measurements of round trips", "/v1/probes", "probe",
		.columns = "ID=id STATE=state KIND=kind CONN=connection SENT=sent "
			   "COMPLETED=completed MISMATCHED=mismatched P50=rtt_ns.p50:ns "
			   "P99=rtt_ns.p99:ns",
		.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"benchmarks", "measurements of rate and latency", "/v1/benchmarks", "benchmark",
		.columns = "ID=id STATE=state OP=op CONN=connection SIZE=size_bytes "
			   "TXDEPTH=tx_depth MESSAGES=messages BYTES/S=bytes_per_s "
			   "P50=latency_ns.p50:ns P99=latency_ns.p99:ns",
		.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"ud-endpoints", "queue pairs for datagrams", "/v1/ud_endpoints", "ud_endpoint",
		.columns = "ID=id NAME=name STATE=state DEVICE=device QPN=qp_attr.lqpn "
			   "GID=qp_attr.sgid MTU=mtu_bytes ADDR=addr PORT=port SERVICE=service",
		.delete_wait_s = VBD_CTL_END_WAIT_S},
	{"ud-peers", "destinations of datagrams", "/v1/ud_peers", "ud_peer",
		.columns = "ID=id NAME=name STATE=state ENDPOINT=ud_endpoint QPN=qpn GID=path.gid "
			   "LID=path.lid ASKED-AT=dst_addr PORT=dst_port",
		.good_state = "ready"},
	{"multicast-memberships", "endpoints in multicast groups", "/v1/multicast_memberships",
		"multicast_membership",
		.columns = "ID=id NAME=name STATE=state ENDPOINT=ud_endpoint ADDR=addr MODE=mode "
			   "MGID=mgid",
		.good_state = "joined", .delete_wait_s = VBD_CTL_END_WAIT_S},
	{"pds", "protection domains", "/v1/pds", "pd",
		.columns = "ID=id NAME=name DEVICE=device DEFAULT=default USERS=user_count"},
	{"cqs", "completion queues", "/v1/cqs", "cq",
		.columns = "ID=id NAME=name DEVICE=device WORKER=worker CQE=cqe "
			   "RESERVED=reserved_cqe OUTSTANDING=outstanding_cqe HIGH=high_water_cqe "
			   "COMPLETIONS=completions ERRORS=error_completions POLLS=polls "
			   "EMPTY=empty_polls ARMED=events_armed TAKEN=events_taken QPS=qp_count"},
	{"srqs", "shared receive queues", "/v1/srqs", "srq",
		.columns = "ID=id NAME=name DEVICE=device PD=pd CQ=cq WRS=max_wr POSTED=posted "
			   "LIMIT=srq_limit EVENTS=limit_events REFILLS=refills USERS=user_count"},
	{"exports", "directories that copies may read or write", "/v1/exports", "export",
		.columns = "ID=id NAME=name STATE=state PATH=path ACCESS=access SECRET=secret "
			   "ALLOW=allow ERROR=error.detail",
		.good_state = "ready"},
	{"faults", "injected faults, for tests", "/v1/faults", "fault",
		.columns =
			"ID=id NAME=name EFFECT=effect CALL=call TARGET=target SELECTOR=selector "
			"COUNT=count FIRED=fired EXPIRES=expires_at"},
	{"devices", "RDMA devices", "/v1/devices", "device",
		.columns = "NAME=name STATE=state TRANSPORT=transport PORTS=ports:ports "
			   "GUID=node_guid FIRMWARE=fw_ver ERROR=error.detail"},
	{.noun = "events", .what = "the event log"},
	{.noun = "glossary",
		.what = "codes, statuses, events and states, and what to do about them",
		.collection = "/v1/glossary"},
	{.noun = "reachability",
		.what = "device, route and GID of a connection before it is made",
		.collection = "/v1/reachability"},
	{.noun = "status",
		.what = "whether verbsd is ready and takes on work, and your name and role"},
	{.noun = "daemon", .what = "the drain of verbsd", .collection = "/v1/drain"},
	{.noun = "config", .what = "the configuration of verbsd", .collection = "/v1/reload"},
	{.noun = "version", .what = "the versions of verbsctl and of verbsd"},
	{.noun = "completion", .what = "scripts that complete command lines in a shell"},
};
const size_t vbd_ctl_noun_count = VBD_ARRAY_LEN(vbd_ctl_nouns);

const struct vbd_ctl_noun *vbd_ctl_noun_row(const char *noun)
{
	for (size_t i = 0; i < vbd_ctl_noun_count; i++) {
		if (strcmp(vbd_ctl_nouns[i].noun, noun) == 0)
			return &vbd_ctl_nouns[i];
	}
	return NULL;
}

/* --- commands ------------------------------------------------------------------------------ */

void vbd_ctl_object_put_full(struct vbd_ctl *ctl, json_t *object)
{
	const struct vbd_ctl_noun *kind = ctl->args.kind;

	vbd_ctl_title_put(kind->kind, object, ctl->color);
	vbd_ctl_object_put(object, "id name state");
}

void vbd_ctl_object_put_brief(struct vbd_ctl *ctl, json_t *object)
{
	const struct vbd_ctl_noun *kind = ctl->args.kind;

	if (kind->brief)
		vbd_ctl_sentence_put(kind->kind, object, kind->brief);
	else
		vbd_ctl_object_put_full(ctl, object);
}

void vbd_ctl_object_put_state(struct vbd_ctl *ctl, json_t *object)
{
	vbd_ctl_sentence_put(ctl->args.kind->kind, object,
		vbd_ctl_json_at(object, "end_code") ? "{state} ({end_code})" : "{state}");
}

void vbd_ctl_object_list(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_noun *kind = ctl->args.kind;

	vbd_ctl_list(ctl, kind->collection, kind->columns);
}

char *vbd_ctl_object_path(const struct vbd_ctl *ctl, const char *tail)
{
	return vbd_ctl_path(ctl->args.kind->collection, ctl->args.operands[0], tail);
}

/* Resolving a peer and joining a group take time, and have --no-wait. */
static int action_wait_s(const struct vbd_ctl *ctl)
{
	int wait_s = ctl->args.command->wait_s;

	if (!wait_s)
		wait_s = vbd_ctl_takes(&ctl->args, VBD_CTL_OPT_NO_WAIT) ? VBD_CTL_WAIT_MAX_S
									: VBD_CTL_NO_WAIT;
	return vbd_ctl_unless_no_wait(ctl, wait_s);
}

void vbd_ctl_object_send(struct vbd_ctl *ctl, const char *ref, json_t *body)
{
	const struct vbd_ctl_command *command = ctl->args.command;
	const char *tail = command->tail ? command->tail : "";
	const char *collection = ctl->args.kind->collection;
	const char *query = "";
	json_t *answer;

	if (strcmp(command->method, "GET") == 0)
		query = vbd_ctl_args_query(&ctl->args, '?');
	/* Without options a request that makes nothing has no body. */
	if (*command->method != 'P' || (json_object_size(body) == 0 && (ref || !*command->options)))
		body = NULL;
	answer = vbd_ctl_call(ctl, command->method,
		ref ? vbd_ctl_path(collection, ref, tail)
		    : vbd_ctl_format("%s%s%s", collection, tail, query),
		body, action_wait_s(ctl));
	if (command->put)
		vbd_ctl_answer_put(ctl, answer, command->put);
}

static void act_on_one(struct vbd_ctl *ctl, const char *ref)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);

	if (json_object_size(body) == 0 && strcmp(ctl->args.command->method, "PATCH") == 0)
		vbd_ctl_refuse(&ctl->args, "needs an option with a new value");
	vbd_ctl_object_send(ctl, ref, body);
}

void vbd_ctl_object_act(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_command *command = ctl->args.command;

	if (strstr(command->usage, "..."))
		vbd_ctl_each(ctl, act_on_one);
	act_on_one(ctl, *command->usage && (!command->members || *command->members == '-')
				? ctl->args.operands[0]
				: NULL);
}

static void rm_one(struct vbd_ctl *ctl, const char *ref)
{
	const struct vbd_ctl_noun *kind = ctl->args.kind;
	/* An object that is gone has no JSON. */
	const json_t *ending = vbd_ctl_call(ctl, "DELETE", vbd_ctl_path(kind->collection, ref, ""),
		NULL, kind->delete_wait_s ? kind->delete_wait_s : VBD_CTL_NO_WAIT);

	if (ctl->json && ending)
		vbd_ctl_json_put(stdout, ending);
	else if (!ctl->json)
		printf("%s/%s: %s\n", kind->kind, vbd_ctl_text_safe(ref),
			ending ? vbd_ctl_cell_text(vbd_ctl_json_at(ending, "state")) : "gone");
}

/* --- objects selected by labels -------------------------------------------------------------- */

void vbd_ctl_object_tell_failures(const json_t *batch, size_t first)
{
	const json_t *failures = json_object_get(batch, "failures");

	for (size_t i = first; i < json_array_size(failures); i++) {
		const json_t *failure = json_array_get(failures, i);

		vbd_ctl_note("%s/%llu: %s", vbd_ctl_json_text(failure, "kind"),
			(unsigned long long)vbd_ctl_json_uint(failure, "id"),
			vbd_ctl_json_text(failure, "detail"));
	}
}

static void put_selected(struct vbd_ctl *ctl, json_t *selected)
{
	const json_t *object;
	size_t i;

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_DRY_RUN)) {
		json_array_foreach(json_object_get(selected, "objects"), i, object)
			puts(vbd_ctl_fill(object, "{kind}/{id}"));
		vbd_ctl_line_put("selected", selected, "{selected}");
		return;
	}
	vbd_ctl_object_tell_failures(selected, 0);
	vbd_ctl_line_put("selected", selected, "{selected}");
	vbd_ctl_line_put("done", selected, "{done}");
	vbd_ctl_line_put("under way", selected, "{pending}");
	vbd_ctl_line_put("failed", selected, "{failed}");
}

/* Calls @one for each operand; with --label or --all instead sends one request to "/v1/objects"
 * with
 * @tail for all objects of the kind that are selected. */
static void each_or_selected(
	struct vbd_ctl *ctl, const char *method, const char *tail, vbd_ctl_one_fn one)
{
	const struct vbd_ctl_args *args = &ctl->args;
	bool every = vbd_ctl_args_has(args, VBD_CTL_OPT_EVERY);
	bool labelled = vbd_ctl_args_has(args, VBD_CTL_OPT_SELECTED);
	bool dry_run = vbd_ctl_args_has(args, VBD_CTL_OPT_DRY_RUN);
	int end_s = args->kind->delete_wait_s;
	json_t *selected;

	if (every + labelled + (args->operand_count > 0) != 1)
		vbd_ctl_refuse(args, "needs operands, or --label, or --all");
	if (dry_run && !every && !labelled)
		vbd_ctl_refuse(args, "--dry-run needs --label or --all");
	if (!every && !labelled)
		vbd_ctl_each(ctl, one);
	selected = vbd_ctl_call(ctl, method,
		vbd_ctl_format("/v1/objects%s?kind=%s%s", tail, args->kind->kind,
			vbd_ctl_args_query(args, '&')),
		NULL, end_s && !dry_run ? vbd_ctl_unless_no_wait(ctl, end_s) : VBD_CTL_NO_WAIT);
	vbd_ctl_answer_put(ctl, selected, put_selected);
	if (vbd_ctl_json_uint(selected, "failed"))
		vbd_ctl_end(VBD_CTL_FAILED);
}

void vbd_ctl_object_cancel(struct vbd_ctl *ctl)
{
	each_or_selected(ctl, "POST", "/-/cancel", act_on_one);
}

void vbd_ctl_object_rm(struct vbd_ctl *ctl)
{
	each_or_selected(ctl, "DELETE", "", rm_one);
}

/* --- wait ---------------------------------------------------------------------------------- */

/* An answer that comes earlier than this before the end is not the server's time-out. */
#define EARLY_MS 20

/* When the one `verbsctl NOUN wait` of the program gives up; 0: never. */
static uint64_t expires_ns;

/* The meaning of an answer for the wait. */
enum verdict {
	HOLDS,
	NEVER, /* the state can't come any more */
	NOT_YET,
};

/*
 * The server answers when the state has come, when it can't come any more, or when the time is
 * over.
 * @early: the time was not over
 */
static enum verdict judge_answer(const char *until, const json_t *object, bool early)
{
	bool has_ended = vbd_ctl_json_at(object, "ended_at");

	if (vbd_ctl_json_is(object, "state", until))
		return HOLDS;
	if (strcmp(until, "ended") == 0 && (has_ended || early))
		return HOLDS;
	if (strcmp(until, "open") == 0 && !has_ended)
		return HOLDS;
	if (!early)
		return NOT_YET;
	return strcmp(until, "changed") == 0 ? HOLDS : NEVER;
}

/* Prints the object, or why its state did not come, and ends with the exit status of @verdict. */
static _Noreturn void report_and_end(
	struct vbd_ctl *ctl, json_t *object, const char *until, enum verdict verdict)
{
	static const enum vbd_ctl_exit exits[] = {
		[HOLDS] = VBD_CTL_OK, [NEVER] = VBD_CTL_FAILED, [NOT_YET] = VBD_CTL_TIMED_OUT};
	const struct vbd_ctl_noun *kind = ctl->args.kind;

	if (verdict == HOLDS && ctl->json)
		vbd_ctl_json_put_line(stdout, object);
	else if (verdict == HOLDS)
		vbd_ctl_object_put_state(ctl, object);
	else if (verdict == NEVER && vbd_ctl_json_at(object, "error"))
		(void)vbd_ctl_report_problem(ctl, vbd_ctl_problem_of(kind->collection, object));
	else
		vbd_ctl_note("%s/%s, and %s %s", kind->kind,
			vbd_ctl_fill(object, "{id} is {state}"),
			verdict == NOT_YET ? "not yet" : "will not be", until);
	(void)fflush(stdout);
	vbd_ctl_end(exits[verdict]);
}

static const char *awaited_state(const struct vbd_ctl_args *args)
{
	const char *until = args->text[VBD_CTL_OPT_UNTIL];

	return until ? until : args->kind->good_state;
}

/* Makes one long poll, and ends unless another one is due. */
static void poll_once(struct vbd_ctl *ctl, const char *ref)
{
	const char *until = awaited_state(&ctl->args);
	unsigned int wait_ms = vbd_ctl_patience_ms(expires_ns);
	const struct vbd_ctl_request request = {
		.method = "GET",
		.path = vbd_ctl_format("%s?until=%s&wait_ms=%u",
			vbd_ctl_path(ctl->args.kind->collection, ref, ""), until, wait_ms),
		.wait_s = wait_ms / 1000 + 1,
	};
	uint64_t asked_ns = vbd_clock_mono_ns();
	json_t *object = vbd_ctl_http_call(&ctl->http, &request);
	uint64_t took_ms = (vbd_clock_mono_ns() - asked_ns) / VBD_NS_PER_MS;
	enum verdict verdict = judge_answer(until, object, took_ms + EARLY_MS < wait_ms);

	if (verdict != NOT_YET || vbd_ctl_patience_ms(expires_ns) == 0)
		report_and_end(ctl, object, until, verdict);
}

static void wait_for(struct vbd_ctl *ctl, const char *ref)
{
	size_t kept = vbd_ctl_kept();

	for (;;) {
		poll_once(ctl, ref);
		vbd_ctl_release(kept);
	}
}

void vbd_ctl_object_wait(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_args *args = &ctl->args;
	const char *until = awaited_state(args);

	if (until[strspn(until, "abcdefghijklmnopqrstuvwxyz_")])
		vbd_ctl_refuse(args, "--until must be a state, not \"%s\"", until);
	expires_ns = 0;
	if (vbd_ctl_args_has(args, VBD_CTL_OPT_WAIT_TIMEOUT))
		expires_ns = vbd_clock_mono_ns() +
			     args->number[VBD_CTL_OPT_WAIT_TIMEOUT] * VBD_NS_PER_MS + 1;
	vbd_ctl_each(ctl, wait_for);
}
