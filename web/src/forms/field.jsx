// SPDX-License-Identifier: Apache-2.0
//
// One field of a form, with its label, its error, and a hint.
import { useList } from "../hooks.js";

// The states in which an object of a collection can be picked, and the text for when there is none.
const PICKABLE = {
	connections: { states: ["established"], none: "No connection is established" },
	buffers: { states: ["ready"], none: "No buffer is ready" },
	devices: { states: ["present"], none: "There is no device" },
	endpoints: { states: ["ready"], none: "No endpoint is ready" },
};

function optionOf(option) {
	return typeof option === "string" ? { value: option, label: option.replaceAll("_", " ") || "–" } : option;
}

function nameOf(item) {
	return item.name ? `${item.name} (${item.id})` : `#${item.id}`;
}

function Pick({ field, inputProps, value }) {
	const { items, loadedAt } = useList(field.from);
	const { states, none } = PICKABLE[field.from];
	const usable = items.filter((item) => states.includes(item.state));
	/* Requests refer to devices by name. */
	const options = usable.map((item) => ({
		value: field.from === "devices" ? item.name : String(item.id),
		label: field.from === "devices" ? item.name : nameOf(item),
	}));
	const known = value === "" || options.some((option) => option.value === value);
	return (
		<select {...inputProps} value={value}>
			<option value="">
				{loadedAt !== null && usable.length === 0
					? none
					: field.required
						? "Choose one"
						: (field.blank ?? "Any")}
			</option>
			{!known && <option value={value}>#{value}</option>}
			{options.map((option) => (
				<option key={option.value} value={option.value}>
					{option.label}
				</option>
			))}
		</select>
	);
}

function Flags({ field, value, onChange, describedBy }) {
	const flip = (flag) => onChange(value.includes(flag) ? value.filter((other) => other !== flag) : [...value, flag]);
	return (
		<fieldset class="field flags" aria-describedby={describedBy}>
			<legend>{field.label}</legend>
			{field.options.map(optionOf).map((option) => (
				<label key={option.value}>
					<input
						type="checkbox"
						name={option.value}
						checked={value.includes(option.value)}
						onChange={() => flip(option.value)}
					/>
					{option.label}
				</label>
			))}
		</fieldset>
	);
}

function Input({ field, value, inputProps }) {
	if (field.from) return <Pick field={field} value={value} inputProps={inputProps} />;
	if (field.kind === "choice") {
		return (
			<select {...inputProps} value={value}>
				{field.options.map(optionOf).map((option) => (
					<option key={option.value} value={option.value}>
						{option.label}
					</option>
				))}
			</select>
		);
	}
	const inputMode = field.kind === "integer" ? "numeric" : undefined;
	const placeholder = field.omit === undefined ? undefined : String(field.omit);
	return (
		<input
			{...inputProps}
			type="text"
			value={value}
			inputMode={inputMode}
			placeholder={placeholder}
			autocomplete="off"
			spellcheck={false}
		/>
	);
}

/** Field - onChange(value) is called at every change; error is shown instead of the hint */
export function Field({ field, value, error, onChange }) {
	const id = `field-${field.name}`;
	const note = error ?? field.hint;
	const describedBy = note ? `${id}-note` : undefined;
	const inputProps = {
		id,
		name: field.name,
		"aria-describedby": describedBy,
		"aria-invalid": error ? "true" : undefined,
		"aria-required": field.required ? "true" : undefined,
		onInput: (event) => onChange(event.target.value),
	};
	return (
		<div class={`form-field ${error ? "is-wrong" : ""} kind-${field.kind}`}>
			{field.kind === "flags" ? (
				<Flags field={field} value={value} onChange={onChange} describedBy={describedBy} />
			) : (
				<div class="field">
					<label for={id} class={field.required ? "needed" : undefined}>
						{field.label}
					</label>
					<Input field={field} value={value} inputProps={inputProps} />
				</div>
			)}
			{note && (
				<p id={describedBy} class={error ? "field-error" : "field-hint"}>
					{error ? `${field.label}: ${error}` : note}
				</p>
			)}
		</div>
	);
}
