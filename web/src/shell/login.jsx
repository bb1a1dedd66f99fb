// SPDX-License-Identifier: Apache-2.0
//
// Asks for the token. The token stays in this tab (sessionStorage) and is sent to this daemon only.
import { useEffect, useRef, useState } from "preact/hooks";
import { getToken, setToken } from "../api.js";
import { usePage } from "../hooks.js";

export function Login() {
	const { link } = usePage();
	const field = useRef(null);
	const [refused, setRefused] = useState(() => getToken() !== "");
	useEffect(() => field.current.focus(), []);

	async function submit(event) {
		event.preventDefault();
		setToken(field.current.value.trim());
		setRefused(false);
		await link.restart();
		setRefused(true);
	}

	return (
		<form class="login panel" onSubmit={submit}>
			<h1>A token is needed</h1>
			<p class="muted">
				A token of the role <em>read</em> shows everything except keys and contents. <em>operate</em> also makes
				objects, and changes and deletes those. <em>control</em> does everything.
			</p>
			<label class="field">
				<span>Token</span>
				<input
					ref={field}
					type="password"
					autocomplete="off"
					spellcheck={false}
					required
					aria-describedby="login-problem"
				/>
			</label>
			<p id="login-problem" class="problem" role="alert">
				{refused ? "verbsd does not know this token." : ""}
			</p>
			<button class="button button-primary" type="submit">
				Unlock
			</button>
		</form>
	);
}
