// SPDX-License-Identifier: Apache-2.0
//
// A part of the suite explain: limits of this host, and what queue pairs do not allow.

import { mkdirSync, writeFileSync } from "node:fs";

import { CONNECTION, failed, far, move, near, next_port, open_memory, pair, says, says_at_last, stage, stage_faulty } from "./explain_stage.mjs";
import { Daemon, PATIENCE_MS, WAIT_S, addr, dev, equal, ok, scenario } from "./lib.mjs";
import { manual_pair } from "./operations.mjs";

const { LAB_SIW_ADDR } = process.env;
const CGROUP = "/sys/fs/cgroup/small";
// Too few for the objects of the connections that are begun below.
const CGROUP_OBJECTS = 14;
const CONNECTIONS = 24;
// Less than the memory of the first connection's receives.
const MEMLOCK_BYTES = 256 << 10;
const LIMITS = {
	full_memlock: ["prlimit", `--memlock=${MEMLOCK_BYTES}:${MEMLOCK_BYTES}`, "setpriv", "--bounding-set", "-ipc_lock", "--inh-caps",
		"-ipc_lock"],
	full_cgroup: ["sh", "-c", `echo $$ >${CGROUP}/cgroup.procs; exec "$@"`, "sh"],
};

for (const [code, prefix] of Object.entries(LIMITS))
	await scenario(`a limit of this host: ${code}`, async () => {
		mkdirSync(CGROUP, { recursive: true });
		writeFileSync(`${CGROUP}/rdma.max`, `${dev} hca_object=${CGROUP_OBJECTS}`);
		const [small, open] = await Promise.all([Daemon.start("small", [], { prefix }), Daemon.start("open")]);

		await Promise.all([small.ready(), open.ready()]);
		const { port } = await open.listen({ port: 0 });
		let refused;

		for (let i = 0; i < CONNECTIONS && !refused; i++) {
			const { status, body } = await small.try("POST", CONNECTION, { dst_addr: addr, dst_port: port, timeout_ms: PATIENCE_MS },
				{ wait_s: WAIT_S });

			refused = status >= 300 ? body : null;
		}
		ok(refused, `${CONNECTIONS} connections were not too many`);
		equal(refused.code, "resource_error", `the code of the refusal (${refused.detail})`);
		await says(small, await small.end_of(refused.instance.split("/").at(-1)), code);
		await small.stop();
		await open.stop();
	});

await scenario("a cgroup that lets librdmacm open no device", async () => {
	mkdirSync(CGROUP, { recursive: true });
	writeFileSync(`${CGROUP}/rdma.max`, `${dev} hca_handle=1 hca_object=max`);
	const small = await Daemon.start("small", [], { prefix: LIMITS.full_cgroup });

	await small.ready();
	await says(small, await failed(small, { dst_addr: addr, dst_port: next_port() }), "device_not_opened");
	await small.stop();
	writeFileSync(`${CGROUP}/rdma.max`, `${dev} hca_handle=max hca_object=max`);
});

await stage("a queue pair that does not allow an access, on both sides", async () => {
	const [here, there] = await pair({}, { qp: { remote_access: [] } });
	const { addr: at, rkey } = await open_memory();

	equal((await move("write", here, { remote: { addr: at, rkey } })).code, "remote_invalid", "code");
	await near.end_of(here.id);
	await says(near, here, "peer_qp_forbids");
	await says(far, await far.end_of(there.id), "refused_here");
});

await stage("a queue pair that was told to send no more", async () => {
	const { from } = await manual_pair(near, far, { qp_type: "rc", device: dev });
	const buffer = await near.buffer(64, { device: dev });

	await near.post(`${CONNECTION}/${from.id}/qp_state`, { state: "SQD" }, WAIT_S);
	await near.post("/v1/transfers", { op: "send", connection: from.id, buffer: buffer.id, length_bytes: 64, timeout_ms: PATIENCE_MS });
	await says_at_last(near, from, "held_back");
	await near.call("DELETE", `${CONNECTION}/${from.id}`);
});

await stage("over iWARP nobody listens", async () => {
	const { instance } = await near.refused("POST", CONNECTION, { dst_addr: LAB_SIW_ADDR, dst_port: next_port(), timeout_ms: PATIENCE_MS }, WAIT_S);

	await says(near, { id: Number(instance.split("/").at(-1)) }, "nobody_listens");
});

await stage_faulty("faults that a client asked for are not the device's", async () => {
	const [struck] = await pair();

	await near.post("/v1/faults", { effect: "qp_error", target: struck.id });
	await says(near, await near.end_of(struck.id), "fault_on_purpose");
	const [slow] = await pair({}, { service: "sink" });

	await near.post("/v1/faults", { effect: "drop_completions", target: slow.id });
	equal((await move("send", slow, { timeout_ms: 1000 })).code, "timed_out", "code of a send whose completion was lost");
	await says(near, await near.end_of(slow.id), "fault_on_purpose");
	await near.post("/v1/faults", { effect: "fail_call", call: "create_qp", errno: "ENOMEM", count: 1 });
	await says(near, await failed(near, { dst_port: (await far.listen({ port: next_port() })).port }), "fault_on_purpose");
});
