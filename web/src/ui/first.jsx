// SPDX-License-Identifier: Apache-2.0
import { baseUrl, getToken } from "../api.js";
import { curlCommand } from "../curl.js";
import { first } from "../first.js";
import { Empty } from "./bits.jsx";

/** First - in place of an empty list: its text, and the commands that make its first row */
export function First({ of }) {
	const [title, text, operands, path, body] = first[of];
	const base = baseUrl();
	const curl = curlCommand({ method: "POST", path, body }, { base, hasToken: getToken() !== "" });
	return (
		<Empty title={title}>
			<p>{text}</p>
			<pre class="command" tabIndex={0} aria-label={`Commands for ${of}`}>
				{`verbsctl -s ${base} ${operands}\n\n${curl}`}
			</pre>
		</Empty>
	);
}
