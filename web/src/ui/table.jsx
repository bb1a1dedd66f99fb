// SPDX-License-Identifier: Apache-2.0
//
// A table of many rows of one height. Only the rows in sight are in the document.
//
// Columns are {key, label, value(row) to sort by, cell(row) to draw, width (CSS), end (right-aligned), firstDown (the first
// click sorts downwards), wide (left out on narrow screens), roomy (left out except on wide screens), fixed (not sortable)}.
// Rows have an `id`. The sort is "key" or "-key".
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { inSight, nextSort } from "../table.js";
import { Icon } from "./icon.jsx";

function HeadCell({ column, sort, onSort }) {
	const { key, label, end, fixed, firstDown } = column;
	const up = sort === key;
	const down = sort === `-${key}`;
	const order = up ? "ascending" : down ? "descending" : undefined;
	return (
		<th scope="col" class={classOf(column)} aria-sort={order} style={column.width && { width: column.width }}>
			{fixed ? (
				<span class="th-text">{label}</span>
			) : (
				<button
					type="button"
					class={`sorter ${end ? "end" : ""}`}
					onClick={() => onSort(nextSort(sort, key, firstDown))}
				>
					{label}
					<span class="sort-mark">{(up || down) && <Icon name={up ? "up" : "down"} size={13} />}</span>
				</button>
			)}
		</th>
	);
}

function classOf({ key, end, wide, roomy }) {
	return `col-${key} ${end ? "end" : ""} ${wide ? "wide-only" : ""} ${roomy ? "wide-only roomy-only" : ""}`;
}

function Row({ row, index, columns, href }) {
	return (
		<tr
			class="row"
			data-id={row.id}
			aria-rowindex={index + 2}
			onClick={href && ((event) => follow(event, href(row)))}
		>
			{columns.map((column) => (
				<td key={column.key} class={classOf(column)}>
					{column.cell(row)}
				</td>
			))}
		</tr>
	);
}

/* A click anywhere in a row follows its link, except on controls and while text is selected. */
function follow(event, href) {
	if (event.target.closest("a,button,input") || String(getSelection())) return;
	location.hash = href;
}

function Spacer({ rows, height }) {
	if (rows === 0) return null;
	return (
		<tr aria-hidden="true">
			<td class="spacer" style={{ height: `${rows * height}px` }} />
		</tr>
	);
}

/* The rows of the table that are within the window. */
function useSight(body, count) {
	const [sight, setSight] = useState({ from: 0, to: Math.min(count, 40), rowHeight: 36 });
	useLayoutEffect(() => {
		let frame = 0;
		function look() {
			frame = 0;
			const box = body.current?.getBoundingClientRect();
			if (!box) return;
			const rowHeight = body.current.querySelector(".row")?.offsetHeight || 36;
			const next = { ...inSight({ top: -box.top, bottom: innerHeight - box.top, rowHeight, count }), rowHeight };
			setSight((old) =>
				old.from === next.from && old.to === next.to && old.rowHeight === next.rowHeight ? old : next,
			);
		}
		const soon = () => (frame ||= requestAnimationFrame(look));
		look();
		addEventListener("scroll", soon, { passive: true, capture: true });
		addEventListener("resize", soon);
		return () => {
			cancelAnimationFrame(frame);
			removeEventListener("scroll", soon, { capture: true });
			removeEventListener("resize", soon);
		};
	}, [count]);
	return sight;
}

export function Table({ label, columns, rows, sort, onSort, href }) {
	const body = useRef(null);
	const { from, to, rowHeight } = useSight(body, rows.length);
	/* A list that has just become shorter is drawn from its end until the window has scrolled. */
	const last = Math.min(to, rows.length);
	const first = Math.max(0, Math.min(from, last - (to - from)));
	return (
		<table class="table" aria-label={label} aria-rowcount={rows.length + 1}>
			<thead>
				<tr>
					{columns.map((column) => (
						<HeadCell key={column.key} column={column} sort={sort} onSort={onSort} />
					))}
				</tr>
			</thead>
			<tbody ref={body} onKeyDown={href && step}>
				<Spacer rows={first} height={rowHeight} />
				{rows.slice(first, last).map((row, i) => (
					<Row key={row.id} row={row} index={first + i} columns={columns} href={href} />
				))}
				<Spacer rows={rows.length - last} height={rowHeight} />
			</tbody>
		</table>
	);
}

/* The keys up and down move the focus from row to row. */
function step(event) {
	const steps = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" };
	const link = event.target.closest(".row")?.[steps[event.key]]?.querySelector("a");
	if (!link) return;
	event.preventDefault();
	link.focus();
	link.closest(".row").scrollIntoView({ block: "nearest" });
}
