// SPDX-License-Identifier: Apache-2.0
//
// Small components that all views use.
import { useState } from "preact/hooks";
import { percent } from "../format.js";
import { hashOf } from "../router.js";
import { stateTone } from "../states.js";
import { Icon } from "./icon.jsx";
import { Prose } from "./prose.jsx";

/** State - the state of an object, in the colour of its tone */
export function State({ state, title }) {
	return (
		<span class={`state state-${stateTone(state)}`} title={title}>
			<i class="dot" aria-hidden="true" />
			{state.replaceAll("_", " ")}
		</span>
	);
}

/** ConnectionLink - a link to a connection; nameOf is what useConnectionNames() gives */
export function ConnectionLink({ id, nameOf }) {
	return (
		<a class="clip" href={hashOf({ view: "connections", ref: String(id) })} title={`connection ${id}`}>
			{nameOf(id)}
		</a>
	);
}

/** Meter - a share from 0 to 1 as a bar; high, the highest share so far, is a mark on it */
export function Meter({ share, high = null, label }) {
	const tone = share > 0.9 ? "bad" : share > 0.7 ? "warn" : "ok";
	return (
		<span class="meter" role="img" aria-label={label} title={label}>
			<span class="meter-track">
				<i class={`meter-bar tone-${tone}`} style={{ width: `${Math.min(100, share * 100)}%` }} />
				{high !== null && <i class="meter-mark" style={{ left: `${Math.min(100, high * 100)}%` }} />}
			</span>
			<span class="meter-text">{percent(share)}</span>
		</span>
	);
}

/** Progress - a share from 0 to 1 as a progress bar; name is its label, text the progress in words */
export function Progress({ share, state, name, text }) {
	return (
		<span
			class={`progress progress-${state}`}
			role="progressbar"
			aria-label={name}
			aria-valuemin={0}
			aria-valuemax={100}
			aria-valuenow={Math.round(share * 100)}
			aria-valuetext={text}
			title={text}
		>
			<i style={{ width: `${share * 100}%` }} />
			<span>{percent(share)}</span>
		</span>
	);
}

/** Spark - the newest values as a line without axes */
export function Spark({ values, width = 72, height = 18 }) {
	const top = Math.max(...values, 1);
	const step = width / 31;
	const points = values.map(
		(value, i) =>
			`${(width - (values.length - 1 - i) * step).toFixed(1)},${(height - 1 - (value / top) * (height - 3)).toFixed(1)}`,
	);
	return (
		<svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
			{values.some((value) => value >= 1) && <polyline points={points.join(" ")} />}
		</svg>
	);
}

/** Facts - a definition list of [label, value, title]; rows without a value (null, false, "") are left out */
export function Facts({ rows }) {
	return (
		<dl class="facts">
			{rows
				.filter((row) => row && (row[1] || row[1] === 0))
				.map(([label, value, title]) => (
					<div key={label} class="fact" title={title}>
						<dt>{label}</dt>
						<dd>{value}</dd>
					</div>
				))}
		</dl>
	);
}

/** Panel - a part of a page with a title */
export function Panel({ title, aside = null, children, className = "" }) {
	return (
		<section class={`panel ${className}`} aria-label={title}>
			<header class="panel-head">
				<h2>{title}</h2>
				{aside}
			</header>
			{children}
		</section>
	);
}

/** Trouble - the title, detail and hint of a Problem */
export function Trouble({ problem, children }) {
	return (
		<div class="trouble" role="alert">
			<Icon name="warning" />
			<div>
				<p>
					<strong>{problem.title}</strong>
				</p>
				{problem.detail && (
					<p>
						<Prose text={problem.detail} />
					</p>
				)}
				{problem.hint && (
					<p class="muted">
						<Prose text={problem.hint} />
					</p>
				)}
				{children}
			</div>
		</div>
	);
}

/** Empty - the text in place of an empty list; children say how to fill it */
export function Empty({ title, children }) {
	return (
		<div class="empty">
			<p class="empty-title">{title}</p>
			{children}
		</div>
	);
}

/** Copy - a button that puts a text on the clipboard */
export function Copy({ text, label = "Copy" }) {
	const [done, setDone] = useState(false);
	async function copy() {
		try {
			await navigator.clipboard.writeText(text);
		} catch {
			return; /* Other hosts need TLS for the clipboard. The text can still be selected. */
		}
		setDone(true);
		setTimeout(() => setDone(false), 1500);
	}
	return (
		<button class="icon-button" type="button" onClick={copy} title={label} aria-label={label}>
			<Icon name={done ? "check" : "copy"} size={16} />
		</button>
	);
}
