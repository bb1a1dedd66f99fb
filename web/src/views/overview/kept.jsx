// SPDX-License-Identifier: Apache-2.0
//
// The kept objects that are not up, with the next try; nothing while all of them are up.
import { count } from "../../format.js";
import { useList, useNow } from "../../hooks.js";
import { isAway } from "../../summary.js";
import { objectHash } from "../../router.js";
import { Panel, State } from "../../ui/bits.jsx";
import { nextTrySays } from "../../words.js";

const MOST = 6;

function Away({ kept, now }) {
	const { kind, name, object_id: id, state, error } = kept;
	const href = id === null ? null : objectHash({ kind, id });
	return (
		<li class="failure severity-warning">
			<p class="failure-head">
				<span class="clip">
					{href ? <a href={href}>{name}</a> : name} <span class="faint">{kind}</span>
				</span>
				<State state={state} />
				<span class="num faint">{nextTrySays(kept, now)}</span>
			</p>
			{error && <p class="muted">{error.detail}</p>}
		</li>
	);
}

export function KeptAway() {
	const now = useNow(1000);
	const away = useList("keptObjects").items.filter(isAway);
	if (away.length === 0) return null;
	return (
		<Panel title="Kept objects not up" className="failures-panel">
			<ol class="failures" aria-label="Kept objects that are not up">
				{away.slice(0, MOST).map((kept) => (
					<Away key={kept.id} kept={kept} now={now} />
				))}
			</ol>
			{away.length > MOST && (
				<p class="panel-foot note">
					The first {count(MOST)} of {count(away.length)} are shown.
				</p>
			)}
		</Panel>
	);
}
