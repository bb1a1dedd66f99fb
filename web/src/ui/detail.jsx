// SPDX-License-Identifier: Apache-2.0
//
// One of a list in full, above the table it was picked from.
import { Facts, Panel, State, Trouble } from "./bits.jsx";

function Error({ error }) {
	return (
		<div class="panel-body">
			<Trouble problem={{ title: error.code.replaceAll("_", " "), detail: error.text, hint: error.hint }} />
		</div>
	);
}

/**
 * Detail - item and problem are what useItem() gives; back is where the page goes when it is closed
 * title(item); actions(item) stand in its head, children(item) above the facts, whose rows are rows(item)
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
