// SPDX-License-Identifier: Apache-2.0
// The runner passes a daemon that keeps the contract, and fails one that violates it in any single
// way.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scratch_folder } from '../../scratch.mjs';
import { main } from '../run.mjs';
import { startMock } from './mock.mjs';

const OWN_CASES = fileURLToPath(new URL('fixture', import.meta.url));

async function run(mock, ...more) {
  const lines = [];
  const status = await main(['--cases', OWN_CASES, '--patience', '0.1', ...more, mock.url], (line) => lines.push(line));
  return { status, lines, text: lines.join('\n') };
}

async function withMock(spoil, body) {
  const mock = await startMock(spoil);
  try {
    return await body(mock);
  } finally {
    await mock.stop();
  }
}

function writeCase(folder, name, needs, step) {
  mkdirSync(join(folder, 'cases', name), { recursive: true });
  writeFileSync(join(folder, 'cases', name, 'steps.json'), JSON.stringify({ about: name, needs, steps: [step] }));
}

// A folder with one case of one step, which replaces the fixture.
function caseFolder(name, { needs = 'none', ...request }, expect) {
  const folder = scratch_folder('cases');
  writeCase(folder, name, needs, { ...request, expect });
  return folder;
}

const runCase = (request, expect, spoil, ...more) =>
  withMock(spoil, (mock) =>
    run(mock, ...more, '--cases', caseFolder('it', request, expect), '--only', '^it$'),
  );

test('a daemon that keeps the contract passes', () =>
  withMock(undefined, async (mock) => {
    const { status, text, lines } = await run(mock);
    assert.equal(status, 0, text);
    assert.match(lines.at(-1), /^\d+ passed, 0 failed$/);
  }));

const LIST = 'GET /v1/buffers?limit=1000';
const TARGET = 'GET /v1/buffers/target';
const NOTHING = 'GET /v1/nothing';
const spoilt = {
  'an extra member': [LIST, (answer) => { answer.json.colour = 'red'; }, /must NOT have additional properties.*colour/],
  'an extra member in an item': [TARGET, (answer) => { answer.json.lkey = '0x1'; }, /additional properties.*lkey/],
  'a missing member': [LIST, (answer) => { delete answer.json.total; }, /required property 'total'/],
  'a member of the wrong type': [TARGET, (answer) => { answer.json.user_count = '0'; }, /at \/user_count: must be integer/],
  'a value outside its enum': [TARGET, (answer) => { answer.json.state = 'melting'; }, /equal to one of the allowed values/],
  'a status nobody documents': [LIST, (answer) => { answer.status = 207; }, /status 207 is not documented/],
  'a wrong status': [NOTHING, (answer) => { answer.status = answer.json.status = 410; }, /expected 404, got 410/],
  'a problem that contradicts its status': [NOTHING, (answer) => { answer.json.status = 400; }, /says status 400, the response 404/],
  'a problem as plain JSON': [NOTHING, (answer) => { answer.headers['Content-Type'] = 'application/json'; }, /Content-Type application\/json where/],
  'a code nobody documents': [NOTHING, (answer) => { answer.json.code = 'oops'; }, /at \/code: must be equal to one of/],
  'a list as text': [LIST, (answer) => { answer.headers['Content-Type'] = 'text/html'; }, /Content-Type text\/html where/],
  'a body that is no JSON': [LIST, (answer) => { answer.json = undefined; answer.text = '{'; }, /the body is not JSON/],
  'a creation without Location': ['POST /v1/buffers', (answer) => { delete answer.headers.Location; }, /Location is undefined/],
  'a Location that leads nowhere': [
    'POST /v1/buffers',
    (answer) => {
      if (answer.headers.Location) answer.headers.Location = '/v2/x';
    },
    /Location is \/v2\/x, which is no path/,
  ],
  'a preference nobody asked for': [LIST, (answer) => { answer.headers['Preference-Applied'] = 'wait=1'; }, /though no Prefer was sent/],
  'a thin list that is not thin': [
    'GET /v1/buffers?fields=name',
    (answer) => {
      answer.json.items[0].user_count = 0;
    },
    /has user_count, which is not in fields=name/,
  ],
  'a holder that leads nowhere': [
    'POST /v1/buffers',
    (answer) => {
      if (answer.json.holder) answer.json.holder = '/x';
    },
    /holder is \/x, which is no path/,
  ],
  'a method without Allow': ['PUT /v1/stats', (answer) => { delete answer.headers.Allow; }, /wants both the header Allow and the member allow/],
  'an Allow that lacks a method': [
    'PUT /v1/listeners',
    (answer) => {
      if (answer.json.allow) {
        answer.headers.Allow = 'GET';
        answer.json.allow = ['GET'];
      }
    },
    /Allow is GET, documented are GET, POST/,
  ],
  'a method that should be refused': [
    'PUT /v1/stats',
    (answer) => {
      if (answer.status === 405)
        Object.assign(answer, {
          status: 404,
          json: {
            ...answer.json,
            status: 404,
            code: 'not_found',
            type: '/v1/glossary/not_found',
          },
        });
    },
    /answers 404 not_found/,
  ],
  'a route that is not listed': ['GET /v1', (answer) => { answer.json.routes.pop(); }, /documented, but not served: DELETE \/v1\/faults/],
  'a route that is not documented': [
    'GET /v1',
    (answer) => {
      answer.json.routes.push({ method: 'GET', path: '/v1/secrets', role: 'none' });
    },
    /served, but not documented: GET \/v1\/secrets/,
  ],
  'a route listed twice': ['GET /v1', (answer) => { answer.json.routes.push(answer.json.routes[0]); }, /served twice/],
  'a route that is open and should not be': [
    'GET /v1',
    (answer) => {
      answer.json.routes.at(-1).role = 'none';
    },
    /without a token: served .*faults/,
  ],
  'a problem without a hint': [NOTHING, (answer) => { delete answer.json.hint; }, /a problem without a hint/],
  'a daemon that is not alive': ['GET /livez', (answer) => { answer.status = 503; }, /afterwards \/livez of a answers 503/],
};

for (const [name, [call, change, message]] of Object.entries(spoilt)) {
  test(`${name} fails`, () =>
    withMock(
      (request, answer) => `${request.method} ${request.path}` === call && change(answer),
      async (mock) => {
        const { status, text, lines } = await run(mock);
        assert.equal(status, 1, text);
        assert.match(text, message);
        assert.match(lines.at(-1), /^\d+ passed, [1-9]\d* failed$/);
      },
    ));
}

const CREATE = { ask: 'POST /v1/buffers', json: { size_bytes: 1 } };

test('what a case made is deleted behind it', () =>
  withMock(undefined, async (mock) => {
    const { status, text } = await run(mock, '--cases', caseFolder('it', CREATE), '--only', '^it$');
    assert.equal(status, 0, text);
    assert.deepEqual(mock.state.buffers, []);
  }));

test('an object that stays behind a case fails', () =>
  withMock(undefined, async (mock) => {
    mock.state.keeps = true;
    const { status, text } = await run(mock, '--cases', caseFolder('it', CREATE), '--only', '^it$');
    assert.equal(status, 1);
    assert.match(text, /left behind on a: buffers was 0, is 1/);
  }));

test('an object that can not be deleted fails', async () => {
  const failure = { kind: 'buffer', id: 1, name: null, code: 'in_use', detail: 'a transfer uses it' };
  const spoil = ({ method }, answer) => {
    if (method === 'DELETE') answer.json.failures.push(failure);
  };
  const { status, text } = await runCase(CREATE, undefined, spoil);
  assert.equal(status, 1);
  assert.match(text, /not deleted on a: .*in_use/);
});

test('an answer that is usual for the method need not be named', async () => {
  const spoil = ({ method }, answer) => {
    if (method === 'POST') answer.status = 202;
  };
  const { status, text } = await runCase(CREATE, undefined, spoil);
  assert.equal(status, 1);
  assert.match(text, /expected 201, got 202/);
});

const TAKEN = { ask: 'POST /v1/buffers', json: { size_bytes: 1, name: 'x' } };

for (const [answer, row, message] of [
  ['201', {}, /status: expected 201, got 409/],
  ['404 name_taken', { name: '$absent' }, /status: expected 404, got 201/],
  ['404 not_found', {}, /status: expected 404, got 409/],
  ['409 in_use', {}, /at \/code: expected "in_use", got "name_taken"/],
  ['409 name_taken /name', {}, /at \/errors/],
  ['409 name_taken ?name', {}, /at \/errors/],
  ['409 name_taken ~nobody', {}, /at \/detail/],
  ['invalid 409 name_taken', {}, /marked invalid, but the contract allows it/],
  ['409 name_taken', { colour: 'red' }, /the contract does not allow the request/],
  ['409: name_taken', {}, /is not "\[invalid\] STATUS/],
])
  test(`a row that is refused otherwise than by "${answer}" fails`, () =>
    withMock(undefined, async (mock) => {
      const rows = [['taken', {}, '409 name_taken'], ['wrong', row, answer]];
      const folder = caseFolder('it', { ...TAKEN, refused: rows });
      const steps = JSON.parse(readFileSync(join(folder, 'cases/it/steps.json'), 'utf8'));
      writeFileSync(join(folder, 'cases/it/steps.json'), JSON.stringify({ ...steps, steps: [TAKEN, ...steps.steps] }));
      const text = await run(mock, '--cases', folder, '--only', '^it$').then((result) => result.text, (error) => error.message);
      assert.match(text, message);
    }));

test('a daemon that dies fails its case, not the runner', () =>
  withMock(undefined, async (mock) => {
    await mock.stop();
    const { status, text } = await run(mock);
    assert.equal(status, 1);
    assert.match(text, /ECONNREFUSED/);
    assert.match(text, /afterwards \/livez of a does not answer/);
    assert.match(text, /FAIL 2 cases were not played/);
  }).catch((error) => assert.equal(error.code, 'ERR_SERVER_NOT_RUNNING')));

test('one code with two statuses fails', async () => {
  const spoil = ({ path }, answer) => {
    if (path === '/v1/buffers/2') answer.status = answer.json.status = 410;
  };
  await withMock(spoil, async (mock) => {
    const folder = caseFolder('it', { ask: 'GET /v1/buffers/1' }, { status: 404 });
    writeCase(folder, 'then', 'none', { ask: 'GET /v1/buffers/2', expect: '410' });
    const { text } = await run(mock, '--cases', folder, '--only', '^(it|then)$');
    assert.match(text, /code not_found came with status 404 before, now with 410/);
  });
});

test('a request that the contract does not allow must be marked', async () => {
  const { status, text } = await runCase({ ask: 'GET /v1/buffers?colour=red' }, { status: 200 });
  assert.equal(status, 1);
  assert.match(text, /the contract does not allow the request: colour: not a parameter/);
});

test('a request that is marked invalid must be so', async () => {
  const { status, text } = await runCase({ ask: 'GET /v1/nothing', invalid: true }, { status: 404 });
  assert.equal(status, 0, text);
  const { text: second } = await runCase({ ask: 'GET /v1/buffers', invalid: true }, { status: 200 });
  assert.match(second, /marked invalid, but the contract allows it/);
});

test('a reader that is shown a key fails', async () => {
  const spoil = (request, answer) => {
    if (answer.json?.items) answer.json.items.push({ ...answer.json.items[0], id: 9, rkey: '0x1' });
  };
  const { text } = await runCase({ ask: 'GET /v1/buffers', token: 'read' }, { status: 200 }, spoil);
  assert.match(text, /a reader is shown a key or private data/);
});

test('until gives up, and says what it saw last', async () => {
  const { status, text } = await runCase(
    { ask: 'GET /v1/stats' },
    { status: 200, json: { buffers: 5 }, until: true },
  );
  assert.equal(status, 1);
  assert.match(text, /at \/buffers: expected 5, got 0/);
});

test('until goes on until it matches', async () => {
  const { status, text } = await runCase(
    { ask: 'GET /v1/stats' },
    { status: 200, json: { http_request_duration_count: { $gte: 12 } }, until: true },
    undefined,
    '--patience',
    '60',
  );
  assert.equal(status, 0, text);
});

test('items on two pages fail', async () => {
  const spoil = ({ path }, answer) => {
    if (path.startsWith('/v1/buffers') && path.includes('after=')) answer.json.items[0].id = 1;
  };
  await withMock(spoil, async (mock) => {
    const { text } = await run(mock, '--only', 'pages');
    assert.match(text, /items on two pages: 1/);
  });
});

test('a case whose needs are not met is skipped, and counted', () =>
  withMock(undefined, async (mock) => {
    const folder = caseFolder('it', { ask: 'GET /v1', needs: 'rdma2' }, { status: 200 });
    const { text, lines } = await run(
      mock,
      '--cases',
      folder,
      '--set',
      'guest',
      '--var',
      'LAB_ADDR=192.0.2.1',
    );
    assert.match(text, /skip it: URL_B was not given/);
    assert.match(lines.at(-1), /^\d+ passed, 0 failed, 1 skipped$/);
  }));

test('a case is of the first set that can do all that it needs', () =>
  withMock(undefined, async (mock) => {
    const vars = ['LAB_ADDR', 'TOKEN_URL', 'CONTROL_TOKEN', 'READ_TOKEN'].flatMap((name) => ['--var', `${name}=${mock.url}`]);
    const setsOf = async (needs) => {
      const folder = caseFolder('it', { ask: 'GET /v1/buffers', needs }, { status: 200 });
      const sets = [];
      for (const set of ['native', 'fake', 'guest', 'all']) {
        const { text } = await run(mock, '--cases', folder, '--set', set, '--only', '^it$', ...vars);
        if (text.includes('ok   it')) sets.push(set);
      }
      return sets.join();
    };
    assert.equal(await setsOf('tokens'), 'native,all');
    assert.equal(await setsOf('no_rdma'), 'native');
    assert.equal(await setsOf('rdma tokens'), 'fake,all');
    assert.equal(await setsOf('device tokens'), 'guest,all');
  }));

test('a run without any case fails', () =>
  withMock(undefined, async (mock) => {
    const { status, lines } = await run(mock, '--only', 'no such case');
    assert.equal(status, 1);
    assert.equal(lines.at(-1), '0 passed, 0 failed');
  }));

test('wrong usage is told from failure', async () => {
  await assert.rejects(main([]), /no URL given/);
  await assert.rejects(main(['--set', 'moon', 'http://h']), /--set is one of/);
  await assert.rejects(main(['--colour', 'http://h']), /colour/);
  await assert.rejects(main(['--var', 'x', 'http://h']), /NAME=VALUE/);
});

test('coverage is written, and its gaps are found', () =>
  withMock(undefined, async (mock) => {
    const folder = scratch_folder('coverage');
    await run(mock, '--coverage', folder);
    const { seen } = JSON.parse(readFileSync(join(folder, 'native.json'), 'utf8'));
    assert.ok(seen.includes('GET /v1/buffers 200'));
    assert.ok(seen.includes('POST /v1/buffers 201'));
    const lines = [];
    assert.equal(await main(['--coverage-check', folder], (line) => lines.push(line)), 1);
    assert.ok(lines.includes('not seen: POST /v1/transfers 201'));
    assert.ok(lines.includes('not seen: code remote_access'));
    assert.ok(!lines.includes('not seen: GET /v1/buffers 200'));
  }));

test('coverage without gaps passes', async () => {
  const { Contract } = await import('../lib/contract.mjs');
  const contract = Contract.load();
  const excuses = JSON.parse(readFileSync(new URL('../unprovoked.json', import.meta.url), 'utf8'));
  const folder = scratch_folder('full');
  const seen = contract
    .operations()
    .flatMap(({ method, template, statuses }) =>
      statuses.map((status) => `${method} ${template} ${status}`),
    );
  const codes = contract.codes.filter((code) => !(code in excuses));
  writeFileSync(join(folder, 'all.json'), JSON.stringify({ seen, codes }));
  const lines = [];
  assert.equal(
    await main(['--coverage-check', folder], (line) => lines.push(line)),
    0,
    lines.join('\n'),
  );
});
