// SPDX-License-Identifier: Apache-2.0
//
// Usage: node build.mjs OUTDIR
//
// Bundles the dashboard into OUTDIR, under names that contain a hash of the contents, and writes the files by which the
// compiler embeds it: web_files.c with the table of api/web.h, web_embed.S with the bytes, and web.d with the dependencies.
// web_embed.S names the files from OUTDIR on, which may be moved.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { entries, options, page } from "./bundle.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "../build/web"));
const files = path.join(out, "files");

/* A page that grows is a decision. */
const MOST_BYTES = 235_000;

const TYPES = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
};

const tagOf = (bytes) => `"${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}"`;
const quote = (text) => JSON.stringify(text);

function table(names) {
	const rows = names.map((name, i) => {
		const tag = tagOf(readFileSync(path.join(files, name)));
		const type = TYPES[path.extname(name)];
		if (!type) throw new Error(`${name}: no content type is known for it`);
		return `\t{${quote(name)}, ${quote(type)}, ${quote(tag)}, vbd_web_${i}_start, vbd_web_${i}_end},\n`;
	});
	const symbols = names.map((_, i) => `extern const char vbd_web_${i}_start[], vbd_web_${i}_end[];\n`);
	return (
		`/* Made by web/build.mjs. */\n#include "api/web.h"\n\n${symbols.join("")}\n` +
		`const struct vbd_web_file vbd_web_files[] = {\n${rows.join("")}\t{0},\n};\n`
	);
}

function embedding(names) {
	const parts = names.map(
		(name, i) =>
			`\t.globl vbd_web_${i}_start, vbd_web_${i}_end\nvbd_web_${i}_start:\n` +
			`\t.incbin ${quote(`files/${name}`)}\nvbd_web_${i}_end:\n\t.byte 0\n`,
	);
	return `\t.section .rodata\n${parts.join("")}\t.section .note.GNU-stack, "", %progbits\n`;
}

function write(name, text) {
	writeFileSync(path.join(out, name), text);
}

rmSync(files, { recursive: true, force: true });
mkdirSync(files, { recursive: true });
const result = await build({ ...options, outdir: files, minify: true, metafile: true, write: true });
writeFileSync(path.join(files, "index.html"), page(result.metafile, files));
const names = readdirSync(files).sort();
const bytes = names.reduce((sum, name) => sum + statSync(path.join(files, name)).size, 0);
if (bytes > MOST_BYTES) throw new Error(`the dashboard has ${bytes} bytes; MOST_BYTES allows ${MOST_BYTES}`);
write("web_files.c", table(names));
write("web_embed.S", embedding(names));
const inputs = Object.keys(result.metafile.inputs).map((name) => path.resolve(here, name));
write("web.d", `${path.join(out, "web_files.c")}: ${[...inputs, ...entries.extra].join(" ")}\n`);
