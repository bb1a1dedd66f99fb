// SPDX-License-Identifier: Apache-2.0
// Sends one request over HTTP, or raw bytes over a socket for requests that no HTTP client would
// send.
import http from 'node:http';
import net from 'node:net';

const REQUEST_TIMEOUT_MS = 90_000;
const SOCKET_TIMEOUT_MS = 60_000;
const LARGE_BYTES = 65_536;

// If the daemon's machine is emulated, a new connection takes several times as long as a request.
const kept = new http.Agent({ keepAlive: true, maxFreeSockets: 4 });

function collect(response, started, resolve, reject) {
  const chunks = [];
  response.on('data', (chunk) => chunks.push(chunk));
  response.on('error', reject);
  response.on('end', () =>
    resolve({
      status: response.statusCode,
      headers: response.headers,
      body: Buffer.concat(chunks),
      took_ms: performance.now() - started,
    }),
  );
}

function write(request, body, chunked) {
  if (chunked) request.write(body);
  request.end(chunked ? undefined : body);
}

// A request that the server may refuse before it has read it gets a connection of its own.
const agentFor = ({ body, chunked, headers }) =>
  chunked || body?.length > LARGE_BYTES || Object.keys(headers).some((name) => /^(connection|expect)$/i.test(name))
    ? false
    : kept;

/**
 * Sends one request and resolves to {status, headers, body, took_ms}. Header names are in lower case. A body has a
 * Content-Length, unless `chunked` is set.
 */
export async function send(base, request) {
  try {
    return await sendOnce(base, { headers: {}, ...request });
  } catch (error) {
    // The server may close a kept connection before it has read the request.
    if (!error.onKeptConnection) throw error;
    return sendOnce(base, { headers: {}, ...request, agent: false });
  }
}

function sendOnce(base, options) {
  const { method, path, headers, body, chunked = false, signal } = options;
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const all = { ...headers };
    if (body !== undefined && !chunked) all['Content-Length'] = body.length;
    const request = http.request({
      hostname,
      port,
      method,
      path,
      headers: all,
      agent: options.agent ?? agentFor(options),
      signal,
    });
    let answered = false;
    request.on('response', (response) => {
      answered = true;
      collect(response, started, resolve, reject);
    });
    // A server that refuses a body may close the connection before it has read all: then the answer
    // decides.
    request.on('error', (error) => {
      error.onKeptConnection = request.reusedSocket && error.code === 'ECONNRESET';
      if (!answered) reject(error);
    });
    request.setTimeout(REQUEST_TIMEOUT_MS, () => request.destroy(new Error('no answer in time')));
    write(request, body, chunked);
  });
}

function parseHead(text) {
  const [first, ...lines] = text.split('\r\n');
  const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(first) ?? [];
  const headers = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(status), headers };
}

// Splits received bytes into answers. All answers of verbsd to such requests have a Content-Length.
function parseAnswers(bytes) {
  const answers = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return { answers, rest };
    const head = parseHead(rest.subarray(0, end).toString('latin1'));
    const length = Number(head.headers['content-length'] ?? 0);
    const from = end + 4;
    if (rest.length < from + length) return { answers, rest };
    if (head.status !== 100) answers.push({ ...head, body: rest.subarray(from, from + length) });
    rest = rest.subarray(from + length);
  }
}

/**
 * Sends raw bytes and resolves to {answers, closed, rest}: when the server closes, or, unless `untilClosed` is set,
 * when the expected number of answers has come; at the latest after a minute without data.
 */
export function sendRaw(base, bytes, { answers: wanted, untilClosed }) {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket = net.connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    const finish = (closed) => {
      socket.destroy();
      resolve({ ...parseAnswers(received), closed });
    };
    socket.setTimeout(SOCKET_TIMEOUT_MS, () => finish(false));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!untilClosed && parseAnswers(received).answers.length >= wanted) finish(false);
    });
    socket.on('end', () => finish(true));
    // A reset after the answer counts as a close. Before any byte it is an error, which the caller sees as no
    // answer.
    socket.on('error', (error) => (error.code === 'ECONNREFUSED' ? reject(error) : finish(true)));
  });
}
