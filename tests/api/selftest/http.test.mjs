// SPDX-License-Identifier: Apache-2.0
// Raw requests: the test client must notice a server that is fooled by one.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { sendRaw } from '../lib/http.mjs';
import { scratch_folder } from '../../scratch.mjs';
import { main } from '../run.mjs';
import { startMock } from './mock.mjs';

const answerOf = (status, body = '') =>
  `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

// A server that answers its first bytes with these pieces, and then closes the connection or not.
async function withServer(pieces, close, body) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      pieces.forEach((piece) => socket.write(piece));
      if (close) socket.end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await body(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.close();
  }
}

test('every answer is counted until the server closes', () =>
  withServer([answerOf(400, 'no'), answerOf(200, 'smuggled')], true, async (url) => {
    const { answers, closed } = await sendRaw(url, Buffer.from('x'), {
      answers: 1,
      untilClosed: true,
    });
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.toString()]),
      [
        [400, 'no'],
        [200, 'smuggled'],
      ],
    );
    assert.equal(closed, true);
  }));

test('an answer cut short is none', () =>
  withServer(['HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'], true, async (url) => {
    const { answers, rest } = await sendRaw(url, Buffer.from('x'), {
      answers: 1,
      untilClosed: true,
    });
    assert.equal(answers.length, 0);
    assert.match(rest.toString(), /half$/);
  }));

test('a connection that stays open is told from one that closes', () =>
  withServer([answerOf(200)], false, async (url) => {
    const { answers, closed } = await sendRaw(url, Buffer.from('x'), {
      answers: 1,
      untilClosed: false,
    });
    assert.equal(answers.length, 1);
    assert.equal(closed, false);
  }));

async function playRaw(expect) {
  const mock = await startMock();
  try {
    const folder = scratch_folder('cases');
    mkdirSync(join(folder, 'cases/it'), { recursive: true });
    const bytes = [
      'GET /livez HTTP/1.1',
      'Host: ${HOST_A}',
      '',
      'GET /v1/nothing HTTP/1.1',
      'Host: ${HOST_A}',
      'Connection: close',
      '',
      '',
    ];
    const steps = [{ raw: { bytes }, expect }];
    writeFileSync(
      join(folder, 'cases/it/steps.json'),
      JSON.stringify({ about: 'it', needs: 'none', steps }),
    );
    const lines = [];
    const status = await main(['--cases', folder, '--only', '^it$', mock.url], (line) =>
      lines.push(line),
    );
    return { status, text: lines.join('\n') };
  } finally {
    await mock.stop();
  }
}

test('two answers are two', async () => {
  const { status, text } = await playRaw({
    status: 200,
    answers: 2,
    then: [{ status: 404, json: { code: 'not_found' } }],
  });
  assert.equal(status, 0, text);
});

test('a second answer that should not be fails', async () => {
  const { status, text } = await playRaw({ status: 200 });
  assert.equal(status, 1);
  assert.match(text, /expected 1 answers, got 2/);
});

test('a connection that closes and should not fails', async () => {
  const { status, text } = await playRaw({ status: 200, answers: 3, closed: false });
  assert.equal(status, 1);
  assert.match(text, /the connection was closed/);
});
