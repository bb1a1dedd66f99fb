// SPDX-License-Identifier: Apache-2.0
//
// Draws dialogs at the end of the page. Beside its button, a dialog could vanish: a list that changes may remove the row.
import { useEffect, useState } from "preact/hooks";
import { onNavigate } from "../router.js";

let show = () => {};

/** openDialog - show the dialog that draw(close) returns, one at a time */
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
