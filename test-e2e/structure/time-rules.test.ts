import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importing, madeUpTree } from './made-up-tree.ts';
import { readSourceTree, violationText } from './source-tree.ts';
import { onTheSystemsTime, replacedTimeOutsideTests, timeAndChanceOfThePlatform } from './time-rules.ts';

const root = join(import.meta.dirname, '../..');

describe('time and chance', () => {
  it('come from @gateway/time in all libraries and services', async () => {
    const tree = await readSourceTree(root);
    expect([...timeAndChanceOfThePlatform(tree), ...replacedTimeOutsideTests(tree)].map(violationText)).toEqual([]);
  });

  it('come from the platform in no more files than need it', async () => {
    const tree = await readSourceTree(root);
    for (const file of Object.keys(onTheSystemsTime)) {
      const elsewhere = madeUpTree({}, { 'libs/a/src/a.ts': tree.get(file) ?? '' });
      expect(timeAndChanceOfThePlatform(elsewhere), file).not.toEqual([]);
    }
  });

  const check = (text: string, file = 'services/limiter/src/a.ts') =>
    timeAndChanceOfThePlatform(madeUpTree({}, { [file]: text })).map(violationText);

  it('says what to use instead', () => {
    expect(check('const startedMs = performance.now();')).toEqual([
      'services/limiter/src/a.ts: uses performance.now: take monotonicMs from @gateway/time, which a simulated world replaces',
    ]);
  });

  it.each([
    'const nowMs = Date.now();',
    'const read = Date.now;',
    'const now = new Date();',
    'const text = Date();',
    'Temporal.Now.instant();',
    'performance.timeOrigin;',
    'const { now } = performance;',
    'process.hrtime.bigint();',
    'process.uptime();',
    'setTimeout(run, 5);',
    'globalThis.setTimeout(run, 5);',
    'const timer = setInterval(run, 5);',
    'work(() => setImmediate(run));',
    'clearTimeout(timer);',
    'clearInterval(timer);',
    'clearImmediate(immediate);',
    'fetch(url, { signal: AbortSignal.timeout(5) });',
    'const { random = Math.random } = parts;',
    'crypto.randomUUID();',
    'randomUUIDv7();',
    'randomInt(6);',
    'randomFillSync(bytes);',
    'crypto.getRandomValues(bytes);',
    'crypto.randomBytes(16);',
    "import { hash, randomBytes } from 'node:crypto';",
    'new LRUCache<string, true>({ max: 100, ttl: 60_000 });',
    importing('node:timers'),
    importing('node:timers/promises'),
    importing('timers'),
    importing('node:perf_hooks'),
  ])('may not be taken by %s', (text) => {
    expect(check(text)).toHaveLength(1);
  });

  it.each([
    'socket.setTimeout(5);',
    'new Date(epochMs()).toISOString();',
    'randomBytes(32);',
    "import { randomBytes } from '@gateway/time';",
    '// Runs as `setTimeout` does.',
    '/** In the time of `performance.now()`. */',
    'new LRUCache({ max: 100 });',
    'new LRUCache({ max: 100, ttl: 60_000, ...cacheTime });',
    'new LRUCache({ max: 100, ttl: 60_000, perf });',
  ])('may be taken by %s', (text) => {
    expect(check(text)).toEqual([]);
  });

  it.each([
    'services/limiter/src/a.test.ts',
    'services/limiter/src/__fixtures__/a.ts',
    'services/limiter/test/a.ts',
    'libs/telemetry/src/testing/a.ts',
    'libs/testkit/src/a.ts',
    'services/admin/console/src/a.ts',
    'test-e2e/bench/a.ts',
    'deploy/scripts/a.ts',
  ])('may come from the platform in %s', (file) => {
    expect(check('Date.now();', file)).toEqual([]);
  });

  it.each([
    ['services/limiter/src/a.ts', 1],
    ['libs/testkit/src/a.ts', 1],
    ['test-e2e/bench/a.ts', 1],
    ['deploy/scripts/a.ts', 1],
    ['test-e2e/simulation/worlds/a.ts', 0],
    ['services/limiter/src/a.test.ts', 0],
    ['libs/rpc/src/__fixtures__/a.ts', 0],
  ])('are replaced by %s: %i violations', (file, violations) => {
    const tree = madeUpTree({}, { [file]: importing('@gateway/time/simulated') });
    expect(replacedTimeOutsideTests(tree)).toHaveLength(violations);
  });
});
