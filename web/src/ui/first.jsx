// SPDX-License-Identifier: Apache-2.0
import { baseUrl, getToken } from "../api.js";
import { collections } from "../collections.js";
import { curlCommand } from "../curl.js";
import { first } from "../first.js";
import { Empty } from "./bits.jsx";

/** First - in place of an empty list: its text, and the commands that make its first row; of is a key of first.js */
export function First({ of }) {
	const [text, operands, body] = first[of];
	const { path } = collections[of];
	const base = baseUrl();
	const curl = curlCommand({ method: "POST", path, body }, { base, hasToken: getToken() !== "" });
	return (
		<Empty title={`No ${of} yet`}>
			<p>{text}</p>
			<pre class="command" tabIndex={0} aria-label={`Commands for ${of}`}>
				{`verbsctl -s ${base} ${operands}\n\n${curl}`}
			</pre>
		</Empty>
	);
}
