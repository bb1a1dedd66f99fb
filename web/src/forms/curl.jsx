// SPDX-License-Identifier: Apache-2.0
//
// The curl command that makes the same request as the form.
import { baseUrl, getToken } from "../api.js";
import { curlCommand } from "../curl.js";
import { Copy } from "../ui/bits.jsx";

export function CurlBox({ request }) {
	const text = curlCommand(request, { base: baseUrl(), hasToken: getToken() !== "" });
	return (
		<figure class="curl" aria-label="The same with curl">
			<figcaption>
				The same with curl
				<Copy text={text} label="Copy the command" />
			</figcaption>
			<pre class="command" tabIndex={0}>
				{text}
			</pre>
		</figure>
	);
}
