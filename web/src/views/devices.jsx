// SPDX-License-Identifier: Apache-2.0
//
// The devices, their ports and addresses, and the kernel's counters.
import { bytes, clock, count } from "../format.js";
import { useList } from "../hooks.js";
import { Empty, Facts, Meter, Panel, State, Trouble } from "../ui/bits.jsx";

// The limits that matter when connections are planned.
const LIMITS = [
	["max_qp", "Queue pairs"],
	["max_qp_wr", "Work requests of a queue"],
	["max_cq", "Completion queues"],
	["max_cqe", "Entries of a completion queue"],
	["max_mr", "Memory regions"],
	["max_sge", "Ranges of a work request"],
	["max_qp_rd_atom", "Reads as responder"],
	["max_qp_init_rd_atom", "Reads as initiator"],
	["max_srq", "Shared receive queues"],
	["max_mw", "Memory windows"],
	["max_ah", "Address handles"],
	["max_mcast_grp", "Multicast groups"],
];

function Memlock({ memlock }) {
	const { locked_bytes: locked, limit_bytes: limit } = memlock;
	if (limit === null) return <>{bytes(locked)}, no limit</>;
	return (
		<>
			{bytes(locked)} of {bytes(limit)}
			<Meter
				share={limit > 0 ? locked / limit : 1}
				label={`${bytes(locked)} of ${bytes(limit)} that may be locked`}
			/>
		</>
	);
}

function Gids({ port }) {
	return (
		<div class="scroll-x" tabIndex={0} role="group" aria-label={`Addresses of port ${port.port_num}`}>
			<table class="plain">
				<thead>
					<tr>
						<th scope="col" class="end">
							Index
						</th>
						<th scope="col">GID</th>
						<th scope="col">Type</th>
						<th scope="col">Scope</th>
						<th scope="col">Interface</th>
					</tr>
				</thead>
				<tbody>
					{port.gids.map((gid) => (
						<tr key={gid.gid_index}>
							<td class="end num">{gid.gid_index}</td>
							<td class="mono">{gid.gid}</td>
							<td>{gid.type.replace("_", " ")}</td>
							<td>{gid.scope.replace("_", " ")}</td>
							<td class="mono">
								{gid.netdev ?? "–"}
								{gid.vlan_id !== null && <span class="faint"> VLAN {gid.vlan_id}</span>}
							</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function Port({ port }) {
	return (
		<section class="part" aria-label={`Port ${port.port_num}`}>
			<div class="part-head">
				<h3>Port {port.port_num}</h3>
				<State state={port.state} />
			</div>
			<Facts
				rows={[
					["Link layer", port.link_layer],
					["Physical state", port.phys_state.replaceAll("_", " ")],
					["MTU", `${port.active_mtu_bytes} of ${port.max_mtu_bytes} B`],
					["LID", port.link_layer === "infiniband" ? port.lid : null],
					["Subnet manager's LID", port.link_layer === "infiniband" ? port.sm_lid : null],
				]}
			/>
			{port.gids.length > 0 && <Gids port={port} />}
			<Counters port={port} />
		</section>
	);
}

/* [[name, value]] of a port, by name. */
function countersOf({ counters, hw_counters, cm_counters }) {
	const cm = Object.entries(cm_counters).flatMap(([set, messages]) =>
		Object.entries(messages).map(([message, value]) => [`CM ${set.replaceAll("_", " ")}: ${message}`, value]),
	);
	return [...Object.entries(counters), ...Object.entries(hw_counters), ...cm].sort(([a], [b]) =>
		a.localeCompare(b, "en", { numeric: true }),
	);
}

/* The counters above 0 are of interest, so the others are named in one line. */
function Counters({ port }) {
	const rows = countersOf(port);
	const moved = rows.filter(([, value]) => value > 0);
	if (rows.length === 0) return null;
	return (
		<details class="part">
			<summary>
				Kernel counters{" "}
				<span class="faint">
					{moved.length} of {rows.length} above 0
				</span>
			</summary>
			<Facts rows={moved.map(([name, value]) => [name, count(value)])} />
			{moved.length < rows.length && (
				<p class="note part-note">
					At 0:{" "}
					{rows
						.filter(([, value]) => value === 0)
						.map(([name]) => name)
						.join(", ")}
				</p>
			)}
		</details>
	);
}

function Limits({ limits }) {
	return (
		<details class="part">
			<summary>Limits</summary>
			<Facts rows={LIMITS.map(([name, label]) => [label, count(limits[name]), name])} />
		</details>
	);
}

function Device({ device }) {
	const asyncEvents = Object.entries(device.async_events);
	return (
		<Panel title={device.name} aside={<State state={device.state} />} className="device">
			{device.error && <p class="problem panel-body">{device.error.detail}</p>}
			<Facts
				rows={[
					["Transport", device.transport],
					["Node GUID", <span class="mono">{device.node_guid}</span>],
					["Firmware", device.fw_ver],
					["Locked memory", <Memlock memlock={device.memlock} />],
					[
						"Asynchronous events",
						asyncEvents
							.map(([type, times]) => `${type.replaceAll("_", " ")} × ${count(times)}`)
							.join(", ") || "none",
					],
					[device.removed_at ? "Removed" : "Added", clock(device.removed_at ?? device.added_at)],
				]}
			/>
			{device.capabilities.length > 0 && (
				<ul class="tags" aria-label="Capabilities">
					{device.capabilities.map((name) => (
						<li key={name} class="tag">
							{name.replaceAll("_", " ")}
						</li>
					))}
				</ul>
			)}
			{device.ports.map((port) => (
				<Port key={port.port_num} port={port} />
			))}
			<Limits limits={device.limits} />
		</Panel>
	);
}

export function DevicesView({ route }) {
	const { items, problem, loadedAt } = useList("devices");
	const { id = "" } = route.query;
	const shown = items.filter((device) => !id || id === device.name || id === String(device.id));
	return (
		<div class="view">
			<div class="view-head">
				<h1>Devices</h1>
				{shown.length < items.length && <a href="#/devices">Show all {items.length}</a>}
			</div>
			{problem && loadedAt === null && problem.status !== 0 && <Trouble problem={problem} />}
			{shown.map((device) => (
				<Device key={device.id} device={device} />
			))}
			{loadedAt !== null && items.length === 0 && (
				<Empty title="No RDMA device">
					<p class="muted">
						verbsd detects new devices automatically. Soft-RoCE makes an RDMA device of any network
						interface:
					</p>
					<pre class="command">rdma link add rxe0 type rxe netdev eth0</pre>
				</Empty>
			)}
		</div>
	);
}
