import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityProblems, goTo, startBrowser, visit } from './browser.ts';
import { type MadeUpConsole, startMadeUpConsole } from './made-up-console.ts';
import { signInAs } from './sign-in-as.ts';

let browser: Browser;
let madeUp: MadeUpConsole;

beforeAll(async () => {
  [madeUp, browser] = await Promise.all([startMadeUpConsole(), startBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await madeUp[Symbol.asyncDispose]();
});

/** A page as the holder of this token sees it. It must be free of problems. */
async function as(token: string, path: string, walk: (page: Page) => Promise<void>): Promise<void> {
  const { page, context, complaints } = await visit(browser, madeUp.url, { theme: 'light', width: 1440 });
  await signInAs(page, token);
  await goTo(page, path);
  await walk(page);
  expect(complaints).toEqual([]);
  await context.close();
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const isThere = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

describe('an operator', () => {
  it('issues a token that is shown once, with settings for each client that keep it out of them', () =>
    as('gw_a_operator', '/tokens/new', async (page) => {
      await page.getByLabel('Label').fill('taken');
      await button(page, 'Issue token').click();
      await isThere(page, 'There is a token of that name.');
      await expect.poll(() => page.getByLabel('Label').getAttribute('aria-invalid')).toBe('true');
      await page.getByLabel('Label').fill('team x');
      await button(page, 'Issue token').click();
      const secret = await page.locator('.secret code').first().textContent();
      expect(secret).toMatch(/^gw_s_/);
      await expect.poll(() => page.getByText('Another valid token').count()).toBe(0);
      await page.getByRole('radio', { name: 'Codex' }).check();
      const settings = await page.getByRole('region', { name: 'Settings for Codex' }).textContent();
      expect(settings).toContain('wire_api = "responses"');
      expect(settings).not.toContain(secret);
      await page.getByText('Token details').click();
      await page.goBack();
      await button(page, 'Issue token').waitFor();
      expect(await page.content()).not.toContain(secret);
    }));

  it('learns that another valid token has the label of the new one', () =>
    as('gw_a_operator', '/tokens/new', async (page) => {
      await page.getByLabel('Label').fill('nightly batch');
      await button(page, 'Issue token').click();
      await isThere(page, 'Another valid token has the label nightly batch.');
    }));

  it("sees another person's changes of a token, and saves on top of them", () =>
    as('gw_a_operator', '/tokens/e8b1f0c7-7a3d-4e2f-b6c4-9d0a2f1b4c44', async (page) => {
      await button(page, 'Edit').click();
      await page.getByLabel('Tokens per day').fill('600000');
      await button(page, 'Save').click();
      await isThere(page, 'Note: none → Moved to 03:00 by Bram');
      await button(page, 'Apply my changes').click();
      await page.locator('dialog').waitFor({ state: 'detached' });
      await isThere(page, 'tokens per day: 600\u202f000');
      await isThere(page, 'Moved to 03:00 by Bram');
    }));

  it('learns that another person rotated or changed a token before its text becomes invalid', () =>
    as('gw_a_operator', '/tokens/19f4a7d2-3c6b-4d8e-a1f0-6e2d9b8c7a55', async (page) => {
      await button(page, 'Rotate').click();
      await button(page, 'Rotate token').click();
      await isThere(page, 'Another operator changed or rotated this token meanwhile');
      await expect.poll(() => page.locator('.secret').count()).toBe(0);
      await button(page, 'Rotate anyway').click();
      await expect.poll(() => page.locator('.secret code').first().textContent()).toMatch(/^gw_s_/);
      await page.getByLabel('I have saved the token').check();
      await button(page, 'Done').click();
      await page.locator('dl', { hasText: /Old secret\s*Valid until/ }).waitFor();
      await page.getByRole('link', { name: 'All tokens' }).click();
      await isThere(page, /Old secret valid until/);
    }));

  it('is asked before an account is disabled, and learns when another person was faster', () =>
    as('gw_a_operator', '/pools/responses', async (page) => {
      await page.getByRole('button', { name: 'Disable responses/team-c' }).click();
      await button(page, 'Disable account').click();
      await isThere(page, 'Another operator changed this account meanwhile: it is now draining.');
      await button(page, 'Disable anyway').click();
      await isThere(page, 'responses/team-c is now disabled.');
      await page.getByRole('button', { name: 'Enable responses/team-c' }).waitFor();
    }));

  it('checks an account at its provider, and one that was just added', () =>
    as('gw_a_operator', '/pools/responses', async (page) => {
      await page.getByRole('button', { name: 'Check now: responses/team-b' }).click();
      await isThere(page, 'Checked: 401 from the provider');
      await page.getByRole('button', { name: 'Check now: responses/team-a' }).click();
      await isThere(page, 'Checked: 200, 14 models in 84 ms');
      expect(await accessibilityProblems(page)).toEqual([]);
      await button(page, 'Add account').click();
      await page.getByLabel('Name').fill('team-z');
      await page.locator('dialog').getByLabel('Token', { exact: true }).fill('sk-a-long-enough-key');
      await page.locator('dialog').getByRole('button', { name: 'Add account' }).click();
      await page.getByText('responses/team-z was added.').first().waitFor();
      await page.locator('.added-account', { hasText: 'Checked: 200, 14 models in 84 ms' }).waitFor();
    }));

  it('finds why a request went where it went, from the list or by its id', () =>
    as('gw_a_viewer', '/requests?kind=failed-over', async (page) => {
      await page.locator('tbody a').first().click();
      await isThere(page, 'The provider rate limited the account (429)');
      await isThere(page, 'responses/team-b failed');
      await isThere(page, '1 of responses for gpt-5.5 (team-d): cooling after 429');
      const id = await page.locator('dd code').first().textContent();
      await page.getByLabel('Find a request, token or account').fill(`chatcmpl-${id}`);
      await page.keyboard.press('Enter');
      await isThere(page, 'Timeline');
      expect(new URL(page.url()).pathname).toContain(id);
    }));

  it('waits for a request that runs, on its page', () => {
    const digits = Date.now().toString(16).padStart(12, '0');
    const id = `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-00000000aaaa`;
    return as('gw_a_viewer', `/requests/${id}`, async (page) => {
      await isThere(page, 'This request is still running, or the id is unknown.');
      expect(await accessibilityProblems(page)).toEqual([]);
      await isThere(page, 'Timeline');
    });
  });

  it('reads how many requests run, which the list does not have yet', () =>
    as('gw_a_viewer', '/requests', (page) =>
      isThere(page, /requests in flight\. The log has requests when they end\./),
    ));

  it('reads which limit refused a request', () =>
    as('gw_a_viewer', '/requests?kind=rejected&status=429', async (page) => {
      await page.locator('tbody', { hasText: 'tokens per day' }).waitFor();
      await page.locator('tbody a').first().click();
      await isThere(page, /reached its limit of tokens per day.*Retry at/);
    }));
});

describe('somebody else', () => {
  it('a viewer finds no controls for changes', () =>
    as('gw_a_viewer', '/pools/responses', async (page) => {
      await isThere(page, 'team-a');
      await expect.poll(() => page.getByRole('button', { name: /Disable|Drain|Add account/ }).count()).toBe(0);
    }));

  it('the holder of a token sees its own usage and limits, on an accessible page', () =>
    as('gw_s_ci', '/my-usage', async (page) => {
      await isThere(page, '1.69M of 2M tokens today');
      expect(await accessibilityProblems(page)).toEqual([]);
    }));
});
