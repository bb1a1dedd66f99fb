// SPDX-License-Identifier: Apache-2.0
// The contract of verbsd: openapi.yaml, and openapi-extra.yaml, whose paths and components refer to it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));

/** Returns both documents as one, as `parse` of the package yaml reads them. */
export function wholeContract(parse, root = PROJECT) {
  const document = parse(readFileSync(join(root, 'openapi.yaml'), 'utf8'));
  const more = parse(readFileSync(join(root, 'openapi-extra.yaml'), 'utf8').replaceAll("'openapi.yaml#/", "'#/"));
  Object.assign(document.paths, more.paths);
  for (const [name, part] of Object.entries(more.components))
    document.components[name] = { ...part, ...document.components[name] };
  return document;
}
