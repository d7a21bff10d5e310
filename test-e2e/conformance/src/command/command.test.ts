import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../__fixtures__/run-command.ts';
import { startProviderDouble } from '../double/provider-double.ts';

describe('gateway-conformance', () => {
  let gateway: Awaited<ReturnType<typeof startProviderDouble>>;

  // The double answers like a gateway that only forwards.
  beforeAll(async () => {
    gateway = await startProviderDouble();
  });

  afterAll(() => gateway[Symbol.asyncDispose]());

  const run = (...args: readonly string[]) =>
    runCommand('--url', `${gateway.url}/v1`, '--token', 'any-token-of-a-caller', ...args);

  it('finds models, tries the checks that were chosen, and prints the summary', async () => {
    const { exitCode, printed, notes } = await run(
      '--only',
      'chat-stream-ends-with-done',
      '--only',
      'models-is-a-list',
    );
    expect([exitCode, notes]).toEqual([0, '']);
    expect(printed).toContain('chat         formats           1       0        0');
    expect(printed).toContain('all                            2       0        0');
  });

  it('exits with 1 when a rule is broken, and shows the exchange', async () => {
    const { exitCode, printed, notes } = await run('--only', 'spec-chat-request-id');
    expect([exitCode, notes]).toEqual([1, 'gateway-conformance: 1 of 1 rules broken.']);
    expect(printed).toContain('✗ spec-chat-request-id');
    expect(printed).toContain('> POST /v1/chat/completions');
    expect(printed).not.toContain('any-token-of-a-caller');
  });

  it('prints JSON and JUnit', async () => {
    const only = ['--endpoint', 'chat', '--level', 'operations', '--only', 'chat-late-first-byte'] as const;
    expect((await run(...only, '-o', 'json')).json()).toMatchObject({
      summary: [{ endpoint: 'chat', level: 'operations', skipped: 1 }],
      checks: [{ outcome: 'skipped', why: 'the provider behind the gateway is not the double' }],
    });
    expect((await run(...only, '-o', 'junit')).printed).toContain('<testcase classname="chat.operations"');
  });

  it('lists checks without trying them', async () => {
    const { lines } = await runCommand('--list', '--level', 'specification', '--endpoint', 'models');
    expect(lines[0]).toMatch(/^check +level +needs +rule/);
    expect(lines).toContainEqual(expect.stringMatching(/^spec-models-order-and-fields +specification/));
    expect(lines.join('\n')).not.toContain('formats');
  });

  it.each([
    [['--token', 'any'], '--url must be the address of the gateway'],
    [['--url', 'http://127.0.0.1:1'], '--token is missing'],
    [['--url', 'http://127.0.0.1:1', '--token', 'any', '--limited-rpm', '5'], 'must be used together'],
    [['--url', 'http://127.0.0.1:1', '--token', 'any', '--second-account'], '--second-account needs --provider-port'],
    [['--url', 'http://127.0.0.1:1', '--token', 'any', '--only', 'nothing'], 'no check named nothing'],
    [['--list', '-o', 'junit'], '--list has no JUnit form'],
  ])('refuses %j', async (args, reason) => {
    const { exitCode, printed, notes } = await runCommand(...args);
    expect([exitCode, printed]).toEqual([2, '']);
    expect(notes).toContain(reason);
  });

  it('says so when nothing answers', async () => {
    const { exitCode, notes } = await runCommand('--url', 'http://127.0.0.1:1', '--token', 'any');
    expect(exitCode).toBe(1);
    expect(notes).toContain('no answer to GET /v1/models');
  });
});
