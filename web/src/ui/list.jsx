// SPDX-License-Identifier: Apache-2.0
//
// The list of a collection: its head with search and choices, and its table or the text for an empty list.
import { useMemo } from "preact/hooks";
import { FormButton } from "../forms/form.jsx";
import { count } from "../format.js";
import { hashOf, navigate } from "../router.js";
import { grouped, narrowed, sorted } from "../table.js";
import { Empty, Trouble } from "./bits.jsx";
import { First } from "./first.jsx";
import { Choice, Search } from "./search.jsx";
import { Table } from "./table.jsx";

/** useQuery - [query, set]: the query of the address, and the function that changes some of its members */
export function useQuery({ view, query }) {
	return [query, (more) => navigate({ view, query: { ...query, ...more } }, { replace: true })];
}

/**
 * ListHead - the title of a list, its search and its choices; children are further controls
 * search and show are labels. choices are [key, label, test(row)], the first one for all rows; counts are by key.
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

/* A note about rows that are not shown. */
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
 * list       the result of useList()
 * noun       the word for an item
 * search     label of the search box; textOf(row) is the text to search
 * choices    as for ListHead
 * only       the id of the only row to show, if there is one
 * sort       the initial order
 * groupOf    the key of a row if rows of one key are shown as one
 * action     a button at the end of the head
 * empty      the row of first.js that is shown in place of an empty list
 * children   between the head and the table
 */
export function List({ route, title, list, noun, search, textOf, choices, only, sort = "-id", ...rest }) {
	const { items, total, problem, loadedAt } = list;
	const { columns, href, action, empty, groupOf, children } = rest;
	const [{ q = "", show, sort: order = sort }, set] = useQuery(route);
	const { shown, counts } = useMemo(
		() => narrowed(items, { q, textOf, choices, show, only }),
		[items, q, show, only],
	);
	const rows = sorted(groupOf ? grouped(shown, groupOf) : shown, columns, order);
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
				(items.length ? <NoMatch noun={noun} choices={choices} /> : <First of={empty} />)}
		</>
	);
}

/**
 * Section - a list below the main one: its head with the button that adds to it, one item in full, and the table
 * list   what useList() gives; sort and onSort are as of Table
 * empty  the row of first.js for an empty list
 */
export function Section({ title, form, list, columns, sort, onSort, href, empty, children }) {
	const { items, problem, loadedAt } = list;
	return (
		<>
			<div class="view-head">
				<h2 class="as-h1">{title}</h2>
				<FormButton name={form} />
			</div>
			{children}
			{problem && loadedAt === null && problem.status !== 0 && <Trouble problem={problem} />}
			{items.length > 0 && (
				<Table
					label={title}
					columns={columns}
					rows={sorted(items, columns, sort)}
					sort={sort}
					onSort={onSort}
					href={href}
				/>
			)}
			{loadedAt !== null && items.length === 0 && <First of={empty} />}
		</>
	);
}
