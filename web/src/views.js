// SPDX-License-Identifier: Apache-2.0
//
// The views, in the order of the navigation; the first is the first page. `view` is the first part of the fragment. With a
// ref behind it, as in #/connections/7, `One` is shown.
import { BenchmarksView } from "./views/benchmarks.jsx";
import { BuffersView } from "./views/buffers.jsx";
import { ConnectionView } from "./views/connection.jsx";
import { ConnectionsView } from "./views/connections.jsx";
import { DatagramsView } from "./views/datagrams.jsx";
import { DevicesView } from "./views/devices.jsx";
import { EventsView } from "./views/events.jsx";
import { ListenersView } from "./views/listeners.jsx";
import { OverviewView } from "./views/overview.jsx";
import { TransfersView } from "./views/transfers.jsx";

export const views = [
	{ view: "overview", title: "Overview", icon: "overview", All: OverviewView },
	{ view: "connections", title: "Connections", icon: "connections", All: ConnectionsView, One: ConnectionView },
	{ view: "listeners", title: "Listeners", icon: "listeners", All: ListenersView },
	{ view: "datagrams", title: "Datagrams", icon: "datagrams", All: DatagramsView },
	{ view: "transfers", title: "Transfers", icon: "transfers", All: TransfersView },
	{ view: "buffers", title: "Buffers", icon: "buffers", All: BuffersView },
	{ view: "benchmarks", title: "Benchmarks", icon: "benchmarks", All: BenchmarksView },
	{ view: "devices", title: "Devices", icon: "devices", All: DevicesView },
	{ view: "events", title: "Events", icon: "events", All: EventsView },
];

export function viewOf(route) {
	return views.find(({ view }) => view === route.view) ?? views[0];
}
