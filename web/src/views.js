// SPDX-License-Identifier: Apache-2.0
//
// The views, in the order of the navigation. `view` is the first part of the fragment; with a ref behind it, as in
// #/connections/7, `One` is shown.
import { ConnectionView } from "./views/connection.jsx";
import { ConnectionsView } from "./views/connections.jsx";

export const views = [
	{ view: "connections", title: "Connections", icon: "connections", All: ConnectionsView, One: ConnectionView },
];

export function viewOf(route) {
	return views.find(({ view }) => view === route.view) ?? views[0];
}
