// SPDX-License-Identifier: Apache-2.0
// Bytes described by cases, and verbsd's checksums of them.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url);

const CRC32C_POLYNOMIAL = 0x82f63b78; // the polynomial of Castagnoli, reflected

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ CRC32C_POLYNOMIAL : crc >>> 1;
  return crc >>> 0;
});

export function crc32c(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0');
}

export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

// Bytes without a regular pattern, which could hide a wrong offset; the same in every run
// (xorshift32).
function noise(length, seed) {
  const bytes = Buffer.alloc(length);
  let x = (seed * 2654435761 + 1) >>> 0;
  for (let i = 0; i < length; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    bytes[i] = x >>> 24;
  }
  return bytes;
}

function concat(parts) {
  return Buffer.concat(parts.map((part) => bytesOf(part)));
}

const makers = {
  text: (spec) => Buffer.from(spec.text, 'utf8'),
  hex: (spec) => Buffer.from(spec.hex, 'hex'),
  base64: (spec) => Buffer.from(spec.base64, 'base64'),
  noise: (spec) => noise(spec.noise, spec.seed ?? 1),
  repeat: (spec) => concat(Array(spec.times).fill(spec.repeat)),
  concat: (spec) => concat(spec.concat),
  slice: (spec) => bytesOf(spec.slice).subarray(spec.from, spec.to),
  file: (spec) => readFileSync(fileURLToPath(new URL(spec.file, ROOT))),
};

/**
 * Converts a description to bytes. A string stands for its UTF-8. An object is one of {text} {hex} {base64} {noise:
 * LENGTH, seed} {repeat: BYTES, times} {concat: [BYTES…]} {slice: BYTES, from, to} {file: PATH from the project's
 * root}.
 */
export function bytesOf(spec) {
  if (typeof spec === 'string') return Buffer.from(spec, 'utf8');
  const kind = Object.keys(makers).find((name) => name in spec);
  if (!kind) throw new Error(`no such kind of bytes: ${JSON.stringify(spec)}`);
  return makers[kind](spec);
}
