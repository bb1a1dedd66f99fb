// SPDX-License-Identifier: Apache-2.0
//
// The list of a collection: its head, what narrows it, its table, and what stands there when there is none.
import { useMemo } from "preact/hooks";
import { count } from "../format.js";
import { hashOf, navigate } from "../router.js";
import { narrowed, sorted } from "../table.js";
import { Empty, Trouble } from "./bits.jsx";
import { Choice, Search } from "./search.jsx";
import { Table } from "./table.jsx";

/** useQuery - [query, set]: what stands behind the view in the address, and what changes some of it */
export function useQuery({ view, query }) {
	return [query, (more) => navigate({ view, query: { ...query, ...more } }, { replace: true })];
}

/**
 * ListHead - the title of a list and what narrows it; children are more of that, and what can be done
 * search and show are labels. choices are [key, label, test(row)], the first is for all of them; counts go by key.
 */
export function ListHead({ route, title, search, show = "Which to show", choices, counts, children }) {
	const [query, set] = useQuery(route);
	return (
		<div class="view-head">
			<h1>{title}</h1>
			<Search value={query.q ?? ""} label={search} onInput={(text) => set({ q: text })} />
			{choices && (
				<Choice
					label={show}
					value={query.show || choices[0][0]}
					options={choices.map(([key, label]) => [key, label, count(counts[key])])}
					onChange={(key) => set({ show: key === choices[0][0] ? "" : key })}
				/>
			)}
			{children}
		</div>
	);
}

/* What is not shown, and why. */
function Left({ items, total, only, view }) {
	if (only)
		return (
			<p class="note">
				Only #{only} is shown. <a href={hashOf({ view })}>Show all</a>
			</p>
		);
	if (total <= items.length) return null;
	return (
		<p class="note">
			The first {count(items.length)} of {count(total)} are shown.
		</p>
	);
}

function NoMatch({ noun, choices }) {
	return (
		<Empty title={`No ${noun} matches`}>
			<p class="muted">Clear the search{choices && ", or choose another state"}.</p>
		</Empty>
	);
}

/**
 * List - a view of a collection
 * list       what useList() gives
 * noun       what one of them is called
 * search     label of the search box, and textOf(row) what is searched
 * choices    as of ListHead
 * only       the id of the one to show, if it is one
 * sort       by which column at first
 * action     what stands at the end of the head
 * empty      what is shown when there is nothing at all
 * children   stand between the head and the table
 */
export function List({ route, title, list, noun, search, textOf, choices, only, sort = "-id", ...rest }) {
	const { items, total, problem, loadedAt } = list;
	const { columns, href, action, empty, children } = rest;
	const [{ q = "", show, sort: order = sort }, set] = useQuery(route);
	const { shown, counts } = useMemo(
		() => narrowed(items, { q, textOf, choices, show, only }),
		[items, q, show, only],
	);
	const rows = sorted(shown, columns, order);
	return (
		<>
			<ListHead route={route} title={title} search={search} choices={choices} counts={counts}>
				{action}
			</ListHead>
			{children}
			{problem && loadedAt === null && problem.status !== 0 && <Trouble problem={problem} />}
			{loadedAt !== null && <Left items={items} total={total} only={only} view={route.view} />}
			{rows.length > 0 && (
				<Table
					label={title}
					columns={columns}
					rows={rows}
					sort={order}
					onSort={(value) => set({ sort: value })}
					href={href}
				/>
			)}
			{loadedAt !== null &&
				rows.length === 0 &&
				(items.length ? <NoMatch noun={noun} choices={choices} /> : empty)}
		</>
	);
}
