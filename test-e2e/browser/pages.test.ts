import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { accessibilityProblems, goTo, overflow, startBrowser, type Visit, views, visit } from './browser.ts';
import { type MadeUpConsole, madeUpPaths, startMadeUpConsole } from './made-up-console.ts';
import { signInAs } from './sign-in-as.ts';

const paths = { ...madeUpPaths, nowhere: '/nowhere' };

let site: MadeUpConsole;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([startMadeUpConsole(), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

describe.each(views)('in $theme at $width px', (view) => {
  let visited: Visit;
  beforeAll(async () => {
    visited = await visit(browser, site.url, view);
  });
  afterAll(() => visited?.context.close());

  it('the sign-in page can be used by everybody', async () => {
    const { page, complaints } = visited;
    await goTo(page, '/');
    await expect.poll(() => page.title()).toBe('Sign in · Gateway');
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    expect(complaints).toEqual([]);
    await signInAs(page, 'gw_a_admin');
  });

  it.each(Object.entries(paths))(
    '%s can be used by everybody, fits, and does nothing that its policy forbids',
    async (_name, path) => {
      const { page, complaints } = visited;
      await goTo(page, path);
      const heading = await page.locator('h1').textContent();
      await expect.poll(() => page.title()).toBe(`${heading} · Gateway`);
      await expect.poll(() => page.locator('html').getAttribute('lang')).toBe('en');
      expect(await accessibilityProblems(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      expect(complaints).toEqual([]);
    },
  );
});

it('a row that cannot be shown says why, beside the others', async () => {
  const { page, context } = await visit(browser, site.url, { theme: 'light', width: 1440 });
  onTestFinished(() => context.close());
  await goTo(page, '/');
  await signInAs(page, 'gw_a_admin');
  await goTo(page, '/audit?search=a row that cannot be shown');
  await expect.poll(() => page.getByRole('row').count()).toBe(4);
  await expect
    .poll(() => page.getByRole('row').nth(1).textContent())
    .toMatch(/^This row can't be shown\. RangeError: /);
  await expect.poll(() => page.getByRole('row').nth(2).textContent()).toContain('token.update');
});
