// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { bytesOf, crc32c } from '../lib/bytes.mjs';
import { match } from '../lib/match.mjs';
import { substitute, UnknownVariable } from '../lib/vars.mjs';

const matches = (expected, value) => match(expected, value).length === 0;

test('objects match partially, arrays item by item', () => {
  assert.ok(matches({ a: 1 }, { a: 1, b: 2 }));
  assert.ok(!matches({ a: 1, c: 1 }, { a: 1, b: 2 }));
  assert.ok(matches([1, { a: 1 }], [1, { a: 1, b: 1 }]));
  assert.ok(!matches([1], [1, 2]));
  assert.ok(!matches({}, []));
  assert.ok(!matches({ a: null }, {}));
  assert.ok(matches({ a: null }, { a: null }));
});

test('a difference names its place', () => {
  assert.deepEqual(match({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }), ['at /a/0/b: expected 1, got 2']);
});

test('words tell kinds of values', () => {
  assert.ok(matches({ a: '$any', b: '$absent', c: '$int' }, { a: null, c: 0 }));
  assert.ok(!matches({ b: '$absent' }, { b: null }));
  assert.ok(!matches('$int', 1.5));
  assert.ok(!matches('$int', '1'));
  assert.ok(!matches('$text', ' '));
  assert.ok(matches('$hex', '0x1f') && !matches('$hex', '1f'));
  assert.ok(matches('$time', '2026-01-01T00:00:00.000000000Z') && !matches('$time', '2026-01-01'));
  assert.ok(
    matches('$match:^a.c$', 'a\nc') && !matches('$match:^b', 'abc') && !matches('$match:1', 1),
  );
});

test('a matcher nobody knows is an error of the case', () => {
  assert.throws(() => match('$whatever', 1), /no such matcher/);
  assert.throws(() => match('$whatever:1', 1), /no such matcher/);
  assert.throws(() => match({ $whatever: 1 }, 1), /no such matcher/);
});

test('captures are kept', () => {
  const captures = {};
  assert.deepEqual(match({ id: '$capture:id' }, { id: 7 }, captures), []);
  assert.deepEqual(captures, { id: 7 });
  assert.equal(match({ id: '$capture:id' }, {}).length, 1);
});

test('a part of a text is found and kept', () => {
  const captures = {};
  assert.deepEqual(match('$find:src:src="([^"]+)"', '<img src="/a:b">', captures), []);
  assert.deepEqual(captures, { src: '/a:b' });
  assert.equal(match('$find:src:src="([^"]+)"', '<p>', {}).length, 1);
});

test('only the item that matches is captured', () => {
  const captures = {};
  const items = [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
  ];
  assert.deepEqual(match({ $contains: [{ id: '$capture:id', name: 'b' }] }, items, captures), []);
  assert.deepEqual(captures, { id: 2 });
});

test('operators', () => {
  assert.ok(
    matches({ $gte: 1, $lte: 3 }, 3) &&
      !matches({ $gte: 1, $lte: 3 }, 4) &&
      !matches({ $gte: 1 }, undefined),
  );
  assert.ok(matches({ $one: [1, 2] }, 2) && !matches({ $one: [1, 2] }, 3));
  assert.ok(matches({ $not: 1 }, 2) && !matches({ $not: 1 }, 1));
  assert.ok(
    matches({ $all: ['$match:a', '$match:b'] }, 'ab') &&
      !matches({ $all: ['$match:a', '$match:b'] }, 'a'),
  );
  assert.ok(
    matches({ $length: 2 }, [1, 2]) &&
      matches({ $length: { $gte: 1 } }, { a: 1 }) &&
      !matches({ $length: 2 }, []),
  );
  assert.ok(
    matches({ $each: { a: '$int' } }, [{ a: 1 }, { a: 2 }]) &&
      !matches({ $each: { a: '$int' } }, [{ a: 1 }, {}]),
  );
  assert.ok(
    matches({ $contains: [3, 1] }, [1, 2, 3]) &&
      !matches({ $contains: [4] }, [1, 2, 3]) &&
      !matches({ $contains: [1] }, 1),
  );
  assert.ok(
    matches({ $ordered: [1, 3] }, [1, 2, 3]) &&
      !matches({ $ordered: [3, 1] }, [1, 2, 3]) &&
      !matches({ $ordered: [1, 1] }, [1, 2]),
  );
  assert.ok(
    matches({ $equals: { a: 1 } }, { a: 1 }) && !matches({ $equals: { a: 1 } }, { a: 1, b: 1 }),
  );
});

test('checksums are those of other implementations', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 'e3069283');
  assert.equal(crc32c(Buffer.alloc(32)), '8a9136aa'); // RFC 3720, B.4
  const sha = createHash('sha256').update('abc').digest('hex');
  assert.ok(matches({ $sha256: 'abc' }, sha) && !matches({ $sha256: 'abd' }, sha));
  assert.ok(matches({ $base64: { hex: '00ff80' } }, 'AP+A'));
});

test('bytes follow their description', () => {
  assert.deepEqual(
    bytesOf({ concat: ['a', { hex: '00' }, { repeat: 'bc', times: 2 }] }),
    Buffer.from('a\0bcbc'),
  );
  assert.deepEqual(bytesOf({ slice: 'abcdef', from: 1, to: 3 }), Buffer.from('bc'));
  assert.deepEqual(
    bytesOf({ noise: 100, seed: 1 }),
    bytesOf({ slice: { noise: 200, seed: 1 }, from: 0, to: 100 }),
  );
  assert.notDeepEqual(bytesOf({ noise: 100, seed: 1 }), bytesOf({ noise: 100, seed: 2 }));
  assert.throws(() => bytesOf({ colour: 'red' }), /no such kind/);
});

test('variables keep their type when they stand alone', () => {
  const vars = { id: 7, addr: '0xfffffffffffff000', port: '80' };
  assert.equal(substitute('${id}', vars), 7);
  assert.equal(substitute('/v1/x/${id}?y=${port}', vars), '/v1/x/7?y=80');
  assert.equal(substitute('${id+3}', vars), 10);
  assert.equal(substitute('${id-2}', vars), 5);
  assert.equal(substitute('${id+id}', vars), 14);
  assert.equal(substitute('${addr+4095}', vars), '0xffffffffffffffff');
  assert.deepEqual(substitute({ a: ['${id}'] }, vars), { a: [7] });
  assert.throws(() => substitute('${other}', vars), UnknownVariable);
});
