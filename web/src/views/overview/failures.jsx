// SPDX-License-Identifier: Apache-2.0
//
// The failures of the last hour: how often each cause was met, and the newest ones.
import { ago, clock, count } from "../../format.js";
import { causesOf, failureSays, repeated } from "../../summary.js";
import { hashOf, objectHash } from "../../router.js";
import { Panel } from "../../ui/bits.jsx";
import { words } from "../../words.js";

const MOST = 8;

function nameOfObject(object, nameOf) {
	if (!object) return "daemon";
	const { kind, id, name } = object;
	return name ?? (kind === "connection" ? nameOf(id) : `${words(kind)} ${id}`);
}

function Failure({ event, times, now, nameOf }) {
	const { cause, text } = failureSays(event);
	const href = objectHash(event.object);
	const name = nameOfObject(event.object, nameOf);
	return (
		<li class={`failure severity-${event.severity}`} data-seq={event.seq}>
			<p class="failure-head">
				{href ? (
					<a class="clip" href={href}>
						{name}
					</a>
				) : (
					<span class="clip">{name}</span>
				)}
				<span>
					<strong>{cause}</strong>
					{times > 1 && <span class="faint"> × {count(times)}</span>}
				</span>
				<time class="num faint" datetime={event.at} title={clock(event.at)}>
					{ago(event.at, now)}
				</time>
			</p>
			{text && <p class="muted">{text}</p>}
		</li>
	);
}

function Causes({ failures }) {
	return (
		<ul class="tags causes-line" aria-label="Causes">
			{causesOf(failures).map(([cause, number]) => (
				<li key={cause} class="tag">
					{cause} × {count(number)}
				</li>
			))}
		</ul>
	);
}

export function Failures({ failures, now, nameOf }) {
	const groups = repeated(failures);
	const all = <a href={hashOf({ view: "events", query: { severity: "warning" } })}>All in events</a>;
	return (
		<Panel title="Failed in the last hour" className="failures-panel" aside={failures.length > 0 && all}>
			{failures.length === 0 && <p class="panel-body muted">Nothing failed in the last hour.</p>}
			{failures.length > 1 && <Causes failures={failures} />}
			{failures.length > 0 && (
				<ol class="failures" aria-label="Failures, newest first">
					{groups.slice(0, MOST).map(({ event, times }) => (
						<Failure key={event.seq} event={event} times={times} now={now} nameOf={nameOf} />
					))}
				</ol>
			)}
			{groups.length > MOST && (
				<p class="panel-foot note">
					The newest {count(MOST)} of {count(groups.length)} are shown.
				</p>
			)}
		</Panel>
	);
}
