// SPDX-License-Identifier: Apache-2.0
//
// The status of a connection, the cause, and the hints: from …/explain, or from the connection itself if that fails.
import { useItem } from "../../hooks.js";
import { isOpen } from "../../collections.js";
import { count } from "../../format.js";
import { Panel } from "../../ui/bits.jsx";
import { Icon } from "../../ui/icon.jsx";
import { Prose } from "../../ui/prose.jsx";
import { words } from "../../words.js";

/* What speaks for the cause in the summary, and what else it may be. */
function Evidence({ evidence, possible }) {
	return (
		<>
			{evidence.length > 0 && (
				<div class="hints">
					<p class="label">Because</p>
					<ul>
						{evidence.map((text) => (
							<li key={text}>
								<Prose text={text} />
							</li>
						))}
					</ul>
				</div>
			)}
			{possible.length > 0 && (
				<div class="hints">
					<p class="label">Or maybe</p>
					<ul>
						{possible.map(({ code, detail }) => (
							<li key={code}>
								<Prose text={detail} />
							</li>
						))}
					</ul>
				</div>
			)}
		</>
	);
}

function Finding({ finding }) {
	return (
		<li class={`finding finding-${finding.severity}`} data-code={finding.code}>
			<Icon name={finding.severity === "info" ? "note" : "warning"} size={16} />
			<div>
				<p>
					<span class="sr-only">{finding.severity}: </span>
					<Prose text={finding.detail} />
				</p>
				{!/^Nothing\b/.test(finding.hint) && (
					<p class="muted">
						<Prose text={finding.hint} />
					</p>
				)}
			</div>
		</li>
	);
}

function List({ findings }) {
	if (findings.length === 0) return null;
	return (
		<ul class="findings" aria-label="Findings">
			{findings.map((finding) => (
				<Finding key={finding.code} finding={finding} />
			))}
		</ul>
	);
}

/* Findings without consequences are folded away. */
function Findings({ findings }) {
	const notes = findings.filter(({ severity }) => severity === "info");
	return (
		<>
			<List findings={findings.filter((finding) => !notes.includes(finding))} />
			{notes.length > 0 && (
				<details class="notes">
					<summary>Good to know ({notes.length})</summary>
					<List findings={notes} />
				</details>
			)}
		</>
	);
}

/* The advice may say to compare the request with what the peer has. */
function Request({ request }) {
	if (!request?.remote_addr) return null;
	const { op, length_bytes: length, remote_addr: addr, rkey } = request;
	return (
		<div class="hints">
			<p class="label">Request</p>
			<p>
				{words(op)} of {count(length)} bytes at <span class="mono">{addr}</span> with key{" "}
				<span class="mono">{rkey}</span>
			</p>
		</div>
	);
}

/* The words of the library and the peer: the summary has said them already, unless no cause was found. */
function Reported({ error, isKnown }) {
	const { first } = error;
	const facts = [
		first?.cm_event,
		first?.reject_reason,
		first?.wc_status,
		first?.async_event,
		first?.call,
		first?.errno,
	].filter(Boolean);
	return (
		<details class="notes" open={!isKnown}>
			<summary>As reported</summary>
			<p>
				<Prose text={error.detail} />
			</p>
			{facts.length > 0 && <p class="mono muted">{facts.join(" · ")}</p>}
		</details>
	);
}

/* Flushes after the first error are a consequence of it. */
function Noise({ by }) {
	if (!by || (by.flushed === 0 && by.errors === 0)) return null;
	return (
		<p class="note">
			Followed by {count(by.flushed)} flushed work requests
			{by.errors > 0 ? ` and ${count(by.errors)} more errors` : ""}. They are a consequence, not the cause.
		</p>
	);
}

/* The explanation that the connection itself gives, for when …/explain can't be read. */
function own({ end_code: code, error, state, waits_for: waits }) {
	const now = `The connection is ${words(state)}`;
	const text = code ? `${now}: ${words(code)}.` : waits ? `${now} and waits for ${waits}.` : `${now}.`;
	return {
		summary: text,
		hints: [error?.hint].filter(Boolean),
		findings: [],
		error,
		followed_by: null,
	};
}

function toneOf(connection, { findings }) {
	if (connection.state === "failed") return "bad";
	if (isOpen(connection) && findings.some(({ severity }) => severity !== "info")) return "warn";
	return connection.state === "established" ? "ok" : "plain";
}

export function Why({ connection, reference }) {
	const { item } = useItem("connections", reference, "explain");
	const why = item ?? own(connection);
	return (
		<Panel title={isOpen(connection) ? "Status" : "What happened"} className={`why why-${toneOf(connection, why)}`}>
			<div class="panel-body why-body">
				<p class="why-summary">
					<Prose text={why.summary} />
				</p>
				{why.hints.length > 0 && (
					<div class="hints">
						<p class="label">What to do</p>
						<ul>
							{why.hints.map((text) => (
								<li key={text}>
									<Prose text={text} />
								</li>
							))}
						</ul>
					</div>
				)}
				<Evidence evidence={why.evidence ?? []} possible={why.possible_causes ?? []} />
				<Request request={why.request} />
				{why.error && <Reported error={why.error} isKnown={Boolean(why.cause)} />}
				<Findings findings={why.findings} />
				{!why.findings.some(({ code }) => code === "flushed") && <Noise by={why.followed_by} />}
			</div>
		</Panel>
	);
}
