// SPDX-License-Identifier: Apache-2.0
//
// The options of the bundler and the page around the bundle, for build.mjs and dev.mjs.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const template = path.join(here, "src/index.html");

export const entries = {
	// boot.js runs before the page is drawn, so that the page never flashes in the wrong theme.
	points: ["src/boot.js", "src/main.jsx", "src/style.css", "src/icon.svg"],
	extra: [template],
};

export const options = {
	absWorkingDir: here,
	entryPoints: entries.points,
	bundle: true,
	format: "esm",
	target: ["es2022"],
	jsx: "automatic",
	jsxImportSource: "preact",
	entryNames: "[name]-[hash]",
	assetNames: "[name]-[hash]",
	loader: { ".svg": "copy" },
	legalComments: "none",
	logLevel: "warning",
};

// The name of the bundle of an entry point.
function outputOf(metafile, entry) {
	const found = Object.entries(metafile.outputs).find(
		([, output]) => output.entryPoint === entry || entry in output.inputs,
	);
	if (!found) throw new Error(`${entry} is not in the bundle`);
	return path.basename(found[0]);
}

/** page - the template of the page, with each {{file}} replaced by the path of the asset, from the page on */
export function page(metafile) {
	return readFileSync(template, "utf8").replace(
		/\{\{([a-z.]+)\}\}/g,
		(_, name) => `assets/${outputOf(metafile, `src/${name}`)}`,
	);
}
