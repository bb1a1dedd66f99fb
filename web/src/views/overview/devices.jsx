// SPDX-License-Identifier: Apache-2.0
//
// The devices and their ports, with the state of each.
import { hashOf } from "../../router.js";
import { Panel, State } from "../../ui/bits.jsx";

/* The network interfaces behind a port, for RoCE and iWARP. */
function netdevsOf({ gids }) {
	return [...new Set(gids.map(({ netdev }) => netdev).filter(Boolean))].join(", ");
}

function Port({ port }) {
	const facts = [netdevsOf(port), `MTU ${port.active_mtu_bytes}`].filter(Boolean).join(", ");
	return (
		<li class="line state-line port-line">
			<span class="clip">
				Port {port.port_num} <span class="faint">{facts}</span>
			</span>
			<State state={port.state} />
		</li>
	);
}

function Device({ device }) {
	return (
		<li class="line state-line">
			<a class="clip mono" href={hashOf({ view: "devices", query: { id: device.name } })}>
				{device.name}
			</a>
			<State state={device.state} title={device.error?.detail} />
		</li>
	);
}

export function Devices({ devices }) {
	return (
		<Panel title="Devices and ports" aside={<a href={hashOf({ view: "devices" })}>Details</a>}>
			{devices.length === 0 && (
				<p class="panel-body muted">No RDMA device yet. verbsd detects new devices automatically.</p>
			)}
			<ul class="lines">
				{devices.flatMap((device) => [
					<Device key={device.id} device={device} />,
					...device.ports.map((port) => <Port key={`${device.id} ${port.port_num}`} port={port} />),
				])}
			</ul>
		</Panel>
	);
}
