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
				This verbsd was started with tokens. The <em>read</em> token shows everything except keys and contents;
				the <em>control</em> token also allows changes.
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
