import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goTo, startBrowser, type View, visit } from './browser.ts';
import { type MadeUpConsole, madeUpPaths, startMadeUpConsole } from './made-up-console.ts';
import { signInAs } from './sign-in-as.ts';

let browser: Browser;
let madeUp: MadeUpConsole;

beforeAll(async () => {
  [madeUp, browser] = await Promise.all([startMadeUpConsole(), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await madeUp?.[Symbol.asyncDispose]();
});

async function asAdmin(width: View['width'], walk: (page: Page) => Promise<void>): Promise<void> {
  const { page, context } = await visit(browser, madeUp.url, { theme: 'light', width });
  await signInAs(page, 'gw_a_admin');
  await walk(page);
  await context.close();
}

const textOf = (page: Page) => page.evaluate<string>('document.body.innerText');
const focused = (page: Page) => page.evaluate<string>('document.activeElement.id');

describe('every page of the console', () => {
  it('says one thing of one, has times in one form, and focuses the search on "/"', () =>
    asAdmin(1440, async (page) => {
      for (const path of Object.values({ ...madeUpPaths, other: '/pools/research' })) {
        await goTo(page, path);
        const text = await textOf(page);
        expect.soft(text.match(/(?<![\d.,:\u202f/-])1[ \u00a0][a-z]{3,}s\b/g) ?? [], path).toEqual([]);
        expect.soft(text.match(/\d{4}-\d\d-\d\dT\d\d:\d\d|\d [AP]M\b/g) ?? [], path).toEqual([]);
        expect.soft(text, path).toContain('Times are in Europe/Amsterdam');
        await page.keyboard.press('/');
        expect.soft(await focused(page), path).toBe('search');
      }
      await goTo(page, '/usage');
      await page.getByRole('radio', { name: 'By model' }).check();
      await page.keyboard.press('/');
      expect(await focused(page)).toBe('search');
      await expect.poll(() => page.getByLabel('Find a request, token or account').inputValue()).toBe('');
    }));

  it('says that providers are simulated', () =>
    asAdmin(390, async (page) => {
      for (const path of ['/', '/requests', '/pools', '/usage']) {
        await goTo(page, path);
        await page.getByText('Simulated: research').waitFor();
      }
      await goTo(page, '/pools/research');
      await page.getByText('Simulated provider, Responses, 0 of 1 account available').waitFor();
    }));

  it('has tables of which no column is cut at 1,024 px', () =>
    asAdmin(1024, async (page) => {
      const cut = `[...document.querySelectorAll('.table-wrap')].filter((each) => each.scrollWidth > each.clientWidth)
        .map((each) => each.querySelector('caption').textContent)`;
      for (const path of Object.values(madeUpPaths)) {
        await goTo(page, path);
        expect.soft(await page.evaluate<string[]>(cut), path).toEqual([]);
      }
    }));
});

describe('an operator', () => {
  it('can type a token at once', async () => {
    const { page, context } = await visit(browser, madeUp.url, { theme: 'light', width: 1440 });
    await goTo(page, '/');
    await expect.poll(() => page.evaluate<string>('document.activeElement.type')).toBe('password');
    await context.close();
  });

  it('reads a request in two lines on a telephone', () =>
    asAdmin(390, async (page) => {
      await goTo(page, '/requests');
      const lines = `[...document.querySelectorAll('tbody tr')].map((row) => new Set([...row.children]
        .filter((cell) => cell.offsetParent !== null).map((cell) => cell.offsetTop)).size)`;
      expect(new Set(await page.evaluate<number[]>(lines))).toEqual(new Set([2]));
    }));

  it('finds accounts and pools by parts of their names', () =>
    asAdmin(1440, async (page) => {
      await goTo(page, '/search?q=seat-1');
      await page.getByRole('link', { name: 'messages/seat-10' }).waitFor();
      await goTo(page, '/search?q=RESEAR');
      await page.getByRole('heading', { name: 'Pool research' }).waitFor();
    }));

  it('sees when each account has used up a quota, and where it is defined', () =>
    asAdmin(1440, async (page) => {
      // Shortly before midnight, the time would have a date.
      await page.clock.setFixedTime('2026-11-20T12:00:00+01:00');
      await goTo(page, '/pools/responses');
      const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'team-c', exact: true }) });
      await row.getByText(/^used up at \d\d:\d\d$/).waitFor();
      await row.getByText('bearer, from gateway.yaml').waitFor();
    }));

  it('sees changed settings first', () =>
    asAdmin(1440, async (page) => {
      await goTo(page, '/configuration');
      const rows = page.getByRole('table', { name: 'Settings' }).locator('tbody td:last-child');
      const sources = await rows.allTextContents();
      const firstDefault = sources.indexOf('default');
      expect(firstDefault).toBeGreaterThan(0);
      expect(new Set(sources.slice(firstDefault))).toEqual(new Set(['default']));
    }));

  it('reads which account answered a request', () =>
    asAdmin(1440, async (page) => {
      await goTo(page, madeUpPaths.request);
      const summary = page.getByRole('region', { name: 'Summary' });
      await summary.getByText('Answered by').waitFor();
      await summary.getByRole('link', { name: 'responses/team-a' }).waitFor();
    }));
});
