import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Check } from './check.ts';
import { type RunOptions, runChecks } from './run.ts';
import { must, NotApplicable } from './verdict.ts';

describe('a run of checks', () => {
  const server = createServer((_request, response) => response.end('{"a": 1}'));
  let url = '';

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const outcomesOf = async (checks: readonly Check[], options: Partial<RunOptions> = {}) => {
    const target = { url, token: 'token', models: { chat: 'model', models: '' } };
    const results = await Array.fromAsync(runChecks({ target, checks, ...options }));
    return Object.fromEntries(results.map(({ check, outcome }) => [check.name, outcome]));
  };

  it('reports for each check whether its rule is kept, with the evidence if it is not', async () => {
    const outcomes = await outcomesOf([
      check('kept', async ({ gateway, modelOf }) => {
        must((await gateway.ask('chat', { body: { model: modelOf('chat') } })).status === 200, 'no answer');
      }),
      check('broken', async ({ gateway }) => {
        must((await gateway.ask('chat', { body: {} })).status === 400, 'the status is not 400');
      }),
      check('not applicable', () => Promise.reject(new NotApplicable('there are no tools'))),
      check('unreadable', () => Promise.reject(new TypeError('undefined is not iterable'))),
    ]);
    expect(outcomes).toMatchObject({
      kept: { kind: 'kept' },
      broken: { kind: 'broken', found: 'the status is not 400', exchanges: [{ answer: { status: 200 } }] },
      'not applicable': { kind: 'skipped', why: 'there are no tools' },
      unreadable: { kind: 'broken', found: 'the answer cannot be parsed: undefined is not iterable' },
    });
  });

  it('gives a check a limited time, and more to one that asks for it', async () => {
    const late = () => new Promise<void>((resolve) => setTimeout(resolve, 100));
    const checks = [check('endless', () => new Promise(() => {})), { ...check('long', late), timeoutMs: 10_000 }];
    expect(await outcomesOf(checks, { checkTimeoutMs: 50 })).toMatchObject({
      endless: { kind: 'broken', found: 'it did not end within 0.05 s' },
      long: { kind: 'kept' },
    });
  });

  it('skips a check whose needs are missing, with the reason', async () => {
    const run = () => Promise.reject(new Error('was tried'));
    const outcomes = await outcomesOf([
      { ...check('doubled', run), needs: ['double'] },
      { ...check('limited', run), needs: ['limited-token'] },
      { ...check('failing over', run), needs: ['second-account'] },
    ]);
    expect(outcomes).toEqual({
      doubled: { kind: 'skipped', why: 'the provider behind the gateway is not the double' },
      limited: { kind: 'skipped', why: 'there is no token with a known limit' },
      'failing over': { kind: 'skipped', why: 'the gateway is not known to have two accounts of the double' },
    });
  });

  it('runs the chosen checks of the endpoints that a gateway claims', async () => {
    const checks = [
      check('of chat', async () => {}),
      { ...check('of both', async () => {}), endpoints: ['chat', 'models'] as const },
      { ...check('of messages', async () => {}), endpoints: ['messages'] as const },
      { ...check('of operations', async () => {}), level: 'operations' as const },
    ];
    expect(Object.keys(await outcomesOf(checks))).toEqual(['of chat', 'of both', 'of operations']);
    expect(Object.keys(await outcomesOf(checks, { levels: ['operations'] }))).toEqual(['of operations']);
    expect(Object.keys(await outcomesOf(checks, { endpoints: ['models'] }))).toEqual(['of both']);
    expect(Object.keys(await outcomesOf(checks, { only: ['of chat'] }))).toEqual(['of chat']);
  });

  it('tries checks of the limited token one after the other, beside the others', async () => {
    let running = 0;
    let most = 0;
    const limited: Check['run'] = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
    };
    const besides = Promise.withResolvers<void>();
    const target = { url, token: 'token', models: { chat: '' }, limitedToken: 'limited', limitedRequestsPerMinute: 3 };
    const outcomes = await outcomesOf(
      [
        { ...check('waiting for the other', () => besides.promise), needs: ['limited-token'] },
        { ...check('limited 1', limited), needs: ['limited-token'] },
        { ...check('limited 2', limited), needs: ['limited-token'] },
        check('beside', async () => besides.resolve()),
      ],
      { target, concurrency: 2 },
    );
    expect(Object.values(outcomes)).toEqual(Array(4).fill({ kind: 'kept' }));
    expect(most).toBe(1);
  });

  it('tries a check that must be alone when no other is tried, but for one that mostly waits', async () => {
    const running = new Set<string>();
    const seen: Record<string, readonly string[]> = {};
    const named = (name: string, more: Partial<Check> = {}, release?: PromiseLike<void>) => ({
      ...check(name, async () => {
        seen[name] = [...running];
        running.add(name);
        await new Promise((resolve) => setTimeout(resolve, 10));
        await release;
        running.delete(name);
      }),
      ...more,
    });
    const released = Promise.withResolvers<void>();
    const checks = [
      named('waiting', { timeoutMs: 10_000 }, released.promise),
      named('alone 1', { alone: true }),
      { ...check('alone 2', async () => released.resolve()), alone: true as const },
      named('beside 1'),
      named('beside 2'),
    ];
    expect(Object.keys(await outcomesOf(checks))).toHaveLength(5);
    expect(seen).toEqual({
      waiting: [],
      'beside 1': ['waiting'],
      'beside 2': ['waiting', 'beside 1'],
      'alone 1': ['waiting'],
    });
  });

  it('ends with its signal', async () => {
    const leaving = new AbortController();
    const endless = check('endless', () => new Promise(() => {}));
    const outcomes = outcomesOf([endless], { signal: leaving.signal, checkTimeoutMs: 60_000 });
    leaving.abort(new Error('enough'));
    await expect(outcomes).rejects.toThrow('enough');
  });
});

function check(name: string, run: Check['run']): Check {
  return { name, level: 'formats', endpoints: ['chat'], rule: 'A rule.', source: 'its source', run };
}
