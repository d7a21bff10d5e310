import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { madeUpTree } from './made-up-tree.ts';
import { readSourceTree, violationText } from './source-tree.ts';
import { waitsOfFixedLength } from './waiting-rules.ts';

const root = join(import.meta.dirname, '../..');

describe('waiting in tests', () => {
  it('has room for slow machines everywhere', async () => {
    expect(waitsOfFixedLength(await readSourceTree(root)).map(violationText)).toEqual([]);
  });

  it.each([
    'await vi.waitFor(() => expect(a).toBe(1));',
    'await expect.poll(a, { timeout: 5_000 }).toBe(1);',
    "it('a', { timeout: 60_000 }, () => undefined);",
    "it('a', async () => {\n}, 60_000);",
    'fetch(url, { signal: AbortSignal.timeout(10_000) });',
    'page.setDefaultTimeout(10_000);',
    'const giveUpAtMs = Date.now() + 10_000;',
    'expect(performance.now() - startedMs).toBeLessThan(500);',
  ])('may not be %s', (text) => {
    expect(waitsOfFixedLength(madeUpTree({}, { 'test-e2e/suite/a.test.ts': text }))).toHaveLength(1);
  });

  it.each([
    'await expect.poll(a).toBe(1);',
    'await expect.poll(a, { timeout: leaseTtlSeconds * 1_000 }).toBe(1);',
    "it('a', { timeout: 10_000 * inject('slowness') }, () => undefined);",
    'fetch(url, { signal: AbortSignal.timeout(roomMs(10_000)) });',
    'expect(performance.now() - startedMs).toBeLessThan(roomMs(500));',
    'expect(performance.now() - startedMs).toBeGreaterThan(500);',
    'expect(await sessions.count()).toBe(1);',
  ])('may be %s', (text) => {
    expect(waitsOfFixedLength(madeUpTree({}, { 'test-e2e/suite/a.test.ts': text }))).toEqual([]);
  });

  it.each([
    "expect(await page.getByLabel('Group').textContent()).toBe('A');",
    "expect(\n  await page.locator('html').getAttribute('lang'),\n).toBe('en');",
    'expect(await page.title()).toBe(heading);',
  ])('may not read a page once: %s', (text) => {
    expect(waitsOfFixedLength(madeUpTree({}, { 'test-e2e/browser/a.test.ts': text }))).toHaveLength(1);
  });

  it('may ask a page again and again', () => {
    const text = "await expect.poll(() => page.getByLabel('Group').textContent()).toBe('A');";
    expect(waitsOfFixedLength(madeUpTree({}, { 'test-e2e/browser/a.test.ts': text }))).toEqual([]);
  });
});
