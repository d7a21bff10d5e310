import { freePorts } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsOf } from '../client/chat.ts';
import { BareMachine } from './bare-machine.ts';

// The README's promises for an empty machine, checked on one: Debian's smallest variant lacks a
// library of the Node that npm installs.

/** They start processes of Node, and a Redis that they download. */
const tests = [
  {
    project: 'unit',
    files: ['libs/testkit/src/servers/ports.test.ts', 'libs/database/src/sqlite/open-sqlite.test.ts'],
  },
  { project: 'store', files: ['libs/redis/test/redis.test.ts'] },
];

describe.each([
  { user: 'root', userId: 0, install: 'npm ci', tests },
  // Without the packages for tests.
  { user: 'a user who is not root', userId: 1_000, install: 'npm ci --omit=dev', tests: [] },
])('on the smallest Debian with Node 20, $user', ({ userId, install, tests }) => {
  let machine: BareMachine;
  beforeAll(async () => {
    machine = await BareMachine.make(userId);
  }, roomMs(600_000));
  afterAll(() => machine?.[Symbol.asyncDispose]());

  it('has no Node that runs the sources, and not the library that such a one needs', async () => {
    const { output } = await machine.run('node --version; ls /usr/lib/*/libatomic.so.1; npm --version');
    expect(output).toMatch(/^v20\.20\.2\n10\.8\.2\n.*cannot access '\/usr\/lib\/\*\/libatomic\.so\.1'/);
  });

  it(`installs with ${install}, without a warning, and has Node 26 then`, async () => {
    const { exitCode, output } = await machine.run(install);
    expect(output).not.toMatch(/npm (warn|error)|could not be built/i);
    expect(exitCode).toBe(0);
    const node = await machine.run('node_modules/.bin/node --version; npx gatewayctl --version');
    expect(node.output).toMatch(/^v26\.\d+\.\d+\ngatewayctl /);
  });

  it('starts with npm start, and streams an answer to the line that this prints', async () => {
    const [port, adminPort] = await freePorts(2);
    const env = { PORT: String(port), ADMIN_PORT: String(adminPort) };
    await using gateway = await machine.start('npm start', env, /^curl .*\n/m);
    const [, token = ''] = /^ +Token +(gw_\w+)/m.exec(gateway.output()) ?? [];
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'gateway/sterk',
        stream: true,
        messages: [{ role: 'user', content: 'Hello there' }],
      }),
    });
    const events = eventsOf(await answer.text());
    expect(events[0]).toMatchObject({ choices: [{ delta: { role: 'assistant' } }] });
    expect(events.at(-1)).toBe('[DONE]');
    expect(await (await fetch(`http://127.0.0.1:${adminPort}/`)).text()).toContain('<div id="console">');
  });

  it.each(tests)('runs tests of the project $project', async ({ project, files }) => {
    const { exitCode, output } = await machine.run(`npm test -- --project ${project} ${files.join(' ')}`);
    expect(output).toMatch(new RegExp(`Test Files .*${files.length} passed`));
    expect(exitCode).toBe(0);
  });
});
