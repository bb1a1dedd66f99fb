// SPDX-License-Identifier: Apache-2.0
import { Icon } from "./icon.jsx";

/** Search - the field to which "/" moves the focus */
export function Search({ value, onInput, label }) {
	return (
		<label class="search">
			<Icon name="search" size={16} />
			<input
				data-search
				type="search"
				placeholder={label}
				aria-label={label}
				value={value}
				spellcheck={false}
				onInput={(event) => onInput(event.target.value)}
				onKeyDown={(event) => event.key === "Escape" && (onInput(""), event.target.blur())}
			/>
			<kbd aria-hidden="true">/</kbd>
		</label>
	);
}

/** Choice - a choice of a few options as buttons: options are [value, label, count] */
export function Choice({ label, options, value, onChange }) {
	return (
		<div class="choice" role="group" aria-label={label}>
			{options.map(([option, text, count]) => (
				<button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
					{text}
					{count !== undefined && <span class="choice-count">{count}</span>}
				</button>
			))}
		</div>
	);
}
