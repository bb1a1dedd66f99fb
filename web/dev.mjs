// SPDX-License-Identifier: Apache-2.0
//
// Usage: node dev.mjs [--port PORT] [--fake CONNECTIONS] [DAEMON]
//
// Serves the dashboard of src/, bundled at each visit, in front of a daemon (http://127.0.0.1:7480) or of a stand-in with
// made-up data.
import http from "node:http";
import path from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { options, page } from "./bundle.mjs";
import { Fake } from "./tools/fake.mjs";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { port: { type: "string", default: "7490" }, fake: { type: "string" } },
});
const daemon = new URL(positionals[0] ?? "http://127.0.0.1:7480");
const fake = values.fake === undefined ? null : new Fake(Number(values.fake));
const TYPES = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
/* The policy that the daemon sends, so that violations show up during development. */
const POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";
let assets = new Map();

async function bundle() {
	const result = await build({ ...options, outdir: "/assets", metafile: true, write: false, sourcemap: "inline" });
	assets = new Map(
		result.outputFiles.map(({ path: name, contents }) => [`/assets/${path.basename(name)}`, contents]),
	);
	return page(result.metafile);
}

function forward(request, response) {
	const headers = { ...request.headers, host: daemon.host };
	delete headers.origin;
	const out = http.request(new URL(request.url, daemon), { method: request.method, headers }, (answer) => {
		response.writeHead(answer.statusCode, answer.headers);
		answer.pipe(response);
	});
	out.on("error", () => response.destroy());
	response.on("close", () => out.destroy());
	request.pipe(out);
}

async function serve(request, response) {
	if (request.url === "/") {
		const text = await bundle();
		response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY });
		response.end(text);
	} else if (assets.has(request.url)) {
		response.writeHead(200, { "Content-Type": TYPES[path.extname(request.url)] });
		response.end(assets.get(request.url));
	} else if (fake) {
		fake.serve(request, response);
	} else {
		forward(request, response);
	}
}

const server = http.createServer((request, response) => {
	serve(request, response).catch((error) => {
		response.writeHead(500, { "Content-Type": "text/plain" });
		response.end(String(error.message));
	});
});
server.listen(Number(values.port), "127.0.0.1", () => console.log(`http://127.0.0.1:${values.port}/`));
