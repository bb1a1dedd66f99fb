// SPDX-License-Identifier: Apache-2.0
// openapi.yaml with the validator of tests/api, which needs ajv from npm; null if that is not installed.
import { fileURLToPath } from 'node:url';

async function load() {
  try {
    const { Contract } = await import('../../api/lib/contract.mjs');
    return Contract.load();
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND')
      return null;
    throw error;
  }
}

export const contract = await load();

// Violations of the contract by a request of verbsctl, as lines of text.
export function violationsOf({ method, url, headers, body }) {
  const lines = contract?.checkRequest({ method, path: url, headers, body });
  if (lines === undefined)
    return [];
  return (lines ?? ['no such operation']).map((line) => `${method} ${url}: ${line}`);
}
