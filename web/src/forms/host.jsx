// SPDX-License-Identifier: Apache-2.0
//
// Where dialogs are drawn: at the end of the page, and not where their button is, which a list that goes on changing may
// take away.
import { useEffect, useState } from "preact/hooks";
import { onNavigate } from "../router.js";

let show = () => {};

/** openDialog - draw(close) gives the dialog; one at a time */
export function openDialog(draw) {
	show(() => draw);
}

export function DialogHost() {
	const [draw, setDraw] = useState(null);
	const close = () => setDraw(null);
	useEffect(() => {
		show = setDraw;
		return onNavigate(close);
	}, []);
	return draw ? draw(close) : null;
}
