import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityProblems, overflow, startBrowser, type Visit, views, visit } from './browser.ts';
import { base, startDocsSite } from './docs-site.ts';
import type { StaticSite } from './static-site.ts';

const pages = {
  'the first page': '',
  'a quickstart': 'quickstart/curl.html',
  'a page of the reference': 'reference/errors.html',
};

let site: StaticSite;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([startDocsSite(), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

describe.each(views.slice(0, 3))('the docs in $theme at $width px', (view) => {
  let visited: Visit;
  const elsewhere: string[] = [];
  beforeAll(async () => {
    visited = await visit(browser, `${site.url}${base}`, view);
    visited.page.on('request', (request) => {
      if (!request.url().startsWith(`${site.url}${base}`)) elsewhere.push(request.url());
    });
  });
  afterAll(() => visited?.context.close());

  it.each(Object.entries(pages))('make %s accessible, and ask nothing of another site', async (_, path) => {
    const { page, complaints } = visited;
    await page.goto(path, { waitUntil: 'networkidle' });
    await expect.poll(() => page.locator('html.dark').count()).toBe(view.theme === 'dark' ? 1 : 0);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    expect(complaints).toEqual([]);
    expect(elsewhere).toEqual([]);
  });
});

it('files beside the pages are there, and those elsewhere in the repository are named', async () => {
  const { page, context } = await visit(browser, `${site.url}${base}`, { theme: 'light', width: 1440 });
  await page.goto('reference/http-api.html');
  const contract = new URL(
    (await page.getByRole('link', { name: 'openapi.yaml' }).getAttribute('href')) ?? '',
    page.url(),
  );
  expect(await (await fetch(contract)).text()).toMatch(/^openapi: 3\.1/);
  await page.goto('operate/transport-security.html');
  await page.getByText('libs/rpc/src/call-table.ts').first().waitFor();
  await expect.poll(() => page.locator('a[href*="call-table"]').count()).toBe(0);
  await context.close();
});

describe('the search of the docs', () => {
  it('finds a word, and leads to its place', async () => {
    const { page, context, complaints } = await visit(browser, `${site.url}${base}`, { theme: 'light', width: 1440 });
    await page.goto('');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox').fill('subscription_unavailable');
    await page.getByRole('option', { name: 'subscription_unavailable' }).first().click();
    await page.waitForURL(`${site.url}${base}reference/errors.html#subscription_unavailable`);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
