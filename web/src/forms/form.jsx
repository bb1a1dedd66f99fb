// SPDX-License-Identifier: Apache-2.0
//
// A form that makes an object, and a dialog that asks before an action on an object. Both show the curl command, and both
// show a refusal of the daemon at the field that it is about.
import { useRef, useState } from "preact/hooks";
import { Problem, request as ask } from "../api.js";
import { useMay, usePage } from "../hooks.js";
import { Trouble } from "../ui/bits.jsx";
import { Icon } from "../ui/icon.jsx";
import { CurlBox } from "./curl.jsx";
import { Dialog } from "./dialog.jsx";
import { Field } from "./field.jsx";
import { fieldAt, initialValues, refusedFields, remoteFrom, visibleFields } from "./fields.js";
import { openDialog } from "./host.jsx";
import { actions, afterwards, formRequest, forms } from "./specs.js";

/* send() makes one request at a time; done(answer) is called when it succeeds. */
function useSend(done) {
	const { store } = usePage();
	const [problem, setProblem] = useState(null);
	const [busy, setBusy] = useState(false);
	async function send({ method, path, body }) {
		setBusy(true);
		setProblem(null);
		try {
			const answer = await ask(method, path, { json: body });
			store.refresh();
			done(answer);
		} catch (error) {
			setProblem(
				error instanceof Problem
					? error
					: new Problem({ status: 0, title: "This page has a defect", detail: String(error) }),
			);
			setBusy(false);
		}
	}
	return { problem, busy, send };
}

function Buttons({ action, busy, danger, onClose }) {
	return (
		<footer class="dialog-foot">
			<button type="button" class="button" onClick={onClose}>
				Cancel
			</button>
			<button type="submit" class={`button ${danger ? "button-danger" : "button-primary"}`} aria-disabled={busy}>
				{busy ? "Sending …" : action}
			</button>
		</footer>
	);
}

function Fields({ fields, values, errors, set }) {
	return fields.map((field) => (
		<Field
			key={field.name}
			field={field}
			value={values[field.name]}
			error={errors[field.name]}
			onChange={(value) => set(field, value)}
		/>
	));
}

/* The first field with an error gets the focus, once it is drawn. */
function focusWrong(form) {
	requestAnimationFrame(() => form.current?.querySelector("[aria-invalid], .is-wrong input")?.focus());
}

function FormDialog({ form, given, onClose }) {
	const element = useRef(null);
	const [values, setValues] = useState(() => initialValues(form.fields, given));
	/* A typed text is drawn a moment later, and Enter may be pressed before that. */
	const typed = useRef(values);
	const [isTried, setTried] = useState(false);
	const { problem, busy, send } = useSend((answer) => {
		onClose();
		location.hash = afterwards(form, answer);
	});
	const { request, errors } = formRequest(form, values);
	const refused = problem ? refusedFields(form.fields, problem) : {};
	const wrongField = problem ? fieldAt(form.fields, problem.pointer) : null;
	const shown = { ...(isTried ? errors : {}), ...refused };
	const fields = visibleFields(form.fields, values);
	const more = fields.filter((field) => field.more);

	function set(field, value) {
		/* The text that the copy button of a buffer gives fills in address and key. */
		const remote = field.kind === "hex" ? remoteFrom(value) : null;
		typed.current = { ...typed.current, [field.name]: value, ...remote };
		setValues(typed.current);
	}

	async function submit(event) {
		event.preventDefault();
		if (busy) return;
		setTried(true);
		const asked = formRequest(form, typed.current);
		if (Object.keys(asked.errors).length === 0) await send(asked.request);
		focusWrong(element);
	}

	return (
		<Dialog title={form.title} onClose={onClose}>
			<form ref={element} onSubmit={submit} noValidate>
				<div class="dialog-body">
					{problem && !wrongField && <Trouble problem={problem} />}
					<div class="form-grid">
						<Fields
							fields={fields.filter((field) => !field.more)}
							values={values}
							errors={shown}
							set={set}
						/>
					</div>
					{more.length > 0 && (
						<details class="form-more" open={more.some((field) => shown[field.name]) || undefined}>
							<summary>More</summary>
							<div class="form-grid">
								<Fields fields={more} values={values} errors={shown} set={set} />
							</div>
						</details>
					)}
					<CurlBox request={request} />
				</div>
				<Buttons action={form.action} busy={busy} onClose={onClose} />
			</form>
		</Dialog>
	);
}

function ActionDialog({ action, onClose, onDone }) {
	const { problem, busy, send } = useSend(() => {
		onClose();
		onDone?.();
	});
	function submit(event) {
		event.preventDefault();
		if (!busy) send(action.request);
	}
	return (
		<Dialog title={action.title} onClose={onClose}>
			<form onSubmit={submit}>
				<div class="dialog-body">
					{problem && <Trouble problem={problem} />}
					<p>{action.text}</p>
					<CurlBox request={action.request} />
				</div>
				<Buttons action={action.action} busy={busy} danger={!action.harmless} onClose={onClose} />
			</form>
		</Dialog>
	);
}

/** FormButton - opens one of `forms`; given are values by field. It is not drawn for clients that may not act. */
export function FormButton({ name, given, primary = false, label = forms[name].title }) {
	const open = () =>
		openDialog((close) => <FormDialog key={name} form={forms[name]} given={given} onClose={close} />);
	if (!useMay()) return null;
	return (
		<button type="button" class={`button ${primary ? "button-primary" : ""}`} onClick={open}>
			{label}
		</button>
	);
}

/** ActionButton - asks, then performs one of `actions` on the item; small is for rows of a table */
export function ActionButton({ name, item, small = false, label, onDone }) {
	const action = actions[name](item);
	const open = () =>
		openDialog((close) => <ActionDialog key={action.title} action={action} onClose={close} onDone={onDone} />);
	if (!useMay(action.role)) return null;
	if (small) {
		return (
			<button type="button" class="icon-button" title={action.title} aria-label={action.title} onClick={open}>
				<Icon name="close" size={14} />
			</button>
		);
	}
	return (
		<button
			type="button"
			class={`button ${action.harmless ? "" : "button-danger"}`}
			title={action.title}
			onClick={open}
		>
			{label ?? action.action}
		</button>
	);
}
