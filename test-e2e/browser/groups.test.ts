import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messagesBody, relay } from '../client/relay.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { accessibilityProblems, goTo, startBrowser, type Visit, visit } from './browser.ts';
import { writeConsoleGatewayFile } from './console-gateway-file.ts';
import { signInAs } from './sign-in-as.ts';

let gateway: AllInOneTopology;
let browser: Browser;
let visited: Visit;
let page: Page;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([startAllInOne('groups', {}, writeConsoleGatewayFile), startBrowser()]);
  visited = await visit(browser, gateway.adminUrl, { theme: 'light', width: 1440 });
  page = visited.page;
});
afterAll(async () => {
  await browser?.close();
  await gateway?.[Symbol.asyncDispose]();
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const field = (name: string) => page.getByLabel(name, { exact: true });
const isThere = (text: string | RegExp) => page.getByText(text).first().waitFor();

describe('an operator who makes a group', () => {
  let token = '';
  const ask = (model: string) =>
    relay(gateway, token, { path: '/v1/messages', body: messagesBody(model, 'Hello there', { max_tokens: 400 }) });
  const askedAccounts = () => gateway.simulator.requests({ path: '/v1/messages', limit: 1_000 });

  it('gives it a budget, two models and the accounts with one label', async () => {
    await signInAs(page, gateway.adminToken);
    await goTo(page, '/groups');
    await isThere('No groups yet');
    await button('Create group').click();
    await field('Name').fill('Team A');
    await field('Budget').fill('0.02');
    await field('Budget period').selectOption('day');
    await field('Models').fill('claude-sonnet-5, claude-haiku-4-5');
    await field('Account labels').fill('reserved');
    await page.getByRole('dialog').getByRole('button', { name: 'Create group' }).click();
    await isThere('Team A was created.');
    await isThere('claude-sonnet-5, claude-haiku-4-5');
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  it('issues a token of it, which uses these accounts and no other model', async () => {
    await goTo(page, '/tokens/new');
    await field('Label').fill('team-a-ci');
    await field('Requests per minute').fill('');
    await field('Group').selectOption({ label: 'Team A' });
    await button('Issue token').click();
    token = (await page.locator('.secret code').first().textContent()) ?? '';
    expect((await ask('claude-opus-4-8')).status).toBe(404);
    const before = askedAccounts().length;
    for (let n = 0; n < 2; n++) expect((await ask('claude-haiku-4-5')).status).toBe(200);
    const accounts = askedAccounts().slice(0, askedAccounts().length - before);
    expect(accounts.map(({ account }) => account)).toEqual(['messages-team-a', 'messages-team-a']);
  });

  it('sees that the budget is spent, raises it, and the next request is answered', async () => {
    await expect.poll(async () => (await ask('claude-sonnet-5')).status).toBe(429);
    await goTo(page, '/groups');
    await page.getByRole('link', { name: 'Team A' }).click();
    await isThere(/of €0\.02 per day/);
    await isThere('team-a-ci');
    expect(await accessibilityProblems(page)).toEqual([]);
    await button('Edit').click();
    await field('Budget').fill('5');
    await button('Save').click();
    await isThere('Team A was updated.');
    await isThere(/of €5\.00 per day/);
    await isThere('Within budget');
    await expect.poll(async () => (await ask('claude-sonnet-5')).status).toBe(200);
  });

  it('deletes it, and its tokens stay valid', async () => {
    await button('Delete').click();
    await isThere('1 token of this group');
    await button('Delete group').click();
    await isThere('Team A was deleted.');
    await expect.poll(async () => (await ask('claude-opus-4-8')).status).toBe(200);
    await isThere('No groups yet');
    // Before the sign-in, the page asks who has signed in.
    expect(visited.complaints.slice(1)).toEqual([]);
  });
});
