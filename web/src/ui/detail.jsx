// SPDX-License-Identifier: Apache-2.0
//
// The details of one item, above the table that it was selected from.
import { Facts, Panel, State, Trouble } from "./bits.jsx";

function Error({ error }) {
	return (
		<div class="panel-body">
			<Trouble problem={{ title: error.code.replaceAll("_", " "), detail: error.detail, hint: error.hint }} />
		</div>
	);
}

/**
 * Detail - the details of an item; item and problem are what useItem() returns, back is the address without the details
 * title(item) and actions(item) are in its head, children(item) above the facts, whose rows are rows(item)
 */
export function Detail({ item, problem, back, title, actions, rows, children }) {
	const close = (
		<a class="button" href={back}>
			Close
		</a>
	);
	if (!item || problem?.status === 404)
		return problem && problem.status !== 0 ? <Trouble problem={problem}>{close}</Trouble> : null;
	return (
		<Panel
			title={title(item)}
			aside={
				<span class="aside">
					<State state={item.state} />
					{actions(item)}
					{close}
				</span>
			}
		>
			{children && <div class="panel-body">{children(item)}</div>}
			{item.error && <Error error={item.error} />}
			<Facts rows={rows(item)} />
		</Panel>
	);
}
