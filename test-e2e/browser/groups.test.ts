import { join } from 'node:path';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { messagesBody, relay } from '../client/relay.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { accessibilityProblems, goTo, startBrowser, type Visit, visit } from './browser.ts';
import { writeConsoleGatewayFile } from './console-gateway-file.ts';
import { signInAs } from './sign-in-as.ts';

/** With this variable the picture of docs/operate/groups.md is retaken. */
const takesPictures = process.env.UPDATE_SCREENSHOTS === '1';
const picture = join(import.meta.dirname, '../../docs/operate/console/group-light-1440.png');

let gateway: AllInOneTopology;
let browser: Browser;
let visited: Visit;
let page: Page;
/** Before the sign-in, the page asks who has signed in. */
let complaintsBefore = 0;

beforeAll(async () => {
  [gateway, browser] = await Promise.all([startAllInOne('groups', {}, writeConsoleGatewayFile), startBrowser()]);
  visited = await visit(browser, gateway.adminUrl, { theme: 'light', width: 1440 });
  page = visited.page;
});
afterAll(async () => {
  await browser?.close();
  await gateway?.[Symbol.asyncDispose]();
});

const models = ['claude-opus-4-8', 'claude-sonnet-5'];
const account = 'messages-team-reserved';
const dialog = () => page.getByRole('dialog');
const submit = async (label: string) => {
  await dialog().getByRole('button', { name: label, exact: true }).click();
  await dialog().waitFor({ state: 'detached' });
};
const budgetPanel = () => page.getByRole('region', { name: 'Budget', exact: true });

/** It costs 1.25 at the file's price of opus. */
const expensive = { input_tokens: 50_000, output_tokens: 40_000, cache_read_input_tokens: 0 };

describe('an operator', () => {
  let token = '';
  const ask = (model: string) =>
    relay(gateway, token, { path: '/v1/messages', body: messagesBody(model, 'Hello', { max_tokens: 1_000 }) });
  const budget = async () => {
    const { groups } = await adminClient(GroupService, gateway).listGroups({});
    return groups[0]?.limits?.budget;
  };

  it('adds an account with a label, and a group that is bound to it and to two models', async () => {
    await signInAs(page, gateway.adminToken);
    complaintsBefore = visited.complaints.length;
    await goTo(page, '/pools/messages');
    await page.getByRole('button', { name: 'Add account' }).click();
    await dialog().getByLabel('Name').fill('reserved');
    await dialog().getByLabel('API key', { exact: true }).fill(account);
    await submit('Add account');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'reserved', exact: true }) });
    await row.getByRole('button', { name: 'Labels of messages/reserved' }).click();
    await dialog().getByLabel('Labels').fill('team-a');
    await submit('Save labels');
    await row.getByText('labels: team-a').waitFor();

    await page.getByRole('link', { name: 'Groups', exact: true }).click();
    await page.getByText('No groups yet').waitFor();
    await page.getByRole('button', { name: 'Create group' }).click();
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog().getByLabel('Name').fill('Team A');
    await dialog().getByLabel('Budget in EUR').fill('2');
    await dialog().getByLabel('Models', { exact: true }).fill(models.join(', '));
    await dialog().getByLabel('Accounts').fill('team-a');
    await submit('Create group');
    await page.getByRole('heading', { level: 1, name: 'Team A' }).waitFor();
    await budgetPanel().getByText('0.00 of 2.00 EUR per month').waitFor();
  });

  it('puts a token in it, which sees the two models and uses that account alone', async () => {
    await page.getByRole('link', { name: 'Issue token' }).click();
    await page.getByLabel('Label').fill('team-a-ci');
    await expect.poll(() => page.getByLabel('Group').locator('option:checked').textContent()).toBe('Team A');
    await page.getByRole('button', { name: 'Issue token', exact: true }).click();
    token = (await page.locator('.secret code').first().textContent()) ?? '';
    const listing = await fetch(`${gateway.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
    const { data } = (await listing.json()) as { readonly data: readonly { readonly id: string }[] };
    expect(data.map(({ id }) => id).toSorted()).toEqual(models);
    expect((await ask('claude-haiku-4-5')).status).toBe(404);
    for (let n = 0; n < 4; n++) expect((await ask('claude-sonnet-5')).status).toBe(200);
    const asked = gateway.simulator.requests({ path: '/v1/messages', limit: 1_000 });
    expect(asked.map((request) => request.account)).toEqual(Array(4).fill(account));
  });

  it('sees the budget run out, raises it, and the next request passes', async () => {
    const usage = { kind: 'usage', members: expensive, atStart: expensive } as const;
    gateway.simulator.faults.add({ account, model: 'claude-opus-4-8', fault: usage });
    for (const spentMicros of [1_250_000, 2_500_000]) {
      expect((await ask('claude-opus-4-8')).status).toBe(200);
      await expect.poll(async () => (await budget())?.spentMicros).toBeGreaterThanOrEqual(spentMicros);
    }
    const refused = await ask('claude-opus-4-8');
    expect(refused).toMatchObject({ status: 429, json: { error: { type: 'rate_limit_error' } } });
    expect(refused.text).toContain('The budget of the token');
    expect((await budget())?.reservedMicros).toBe(0);

    await goTo(page, '/groups');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'Team A' }) });
    await row.getByText('Budget spent').waitFor();
    await row.getByRole('link', { name: 'Team A' }).click();
    await budgetPanel()
      .getByText(/2\.5\d of 2\.00 EUR per month \(limit reached\)/)
      .waitFor();
    await page.getByRole('rowheader', { name: 'team-a-ci' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    if (takesPictures) await page.screenshot({ path: picture });

    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog().getByLabel('Budget in EUR').fill('20');
    await submit('Save');
    await budgetPanel()
      .getByText(/of 20\.00 EUR per month/)
      .waitFor();
    await budgetPanel()
      .getByText(/Budget ends at|Lasts until the period ends/)
      .waitFor();
    await expect.poll(async () => (await ask('claude-opus-4-8')).status).toBe(200);
    const { groups } = await adminClient(GroupService, gateway).listGroups({});
    expect(groups[0]?.group?.access).toMatchObject({ models, accountLabels: ['team-a'] });
  });

  it("shows the holder the group's remaining room, and how long quotas last", async () => {
    const holder = await visit(browser, gateway.adminUrl, { theme: 'light', width: 1440 });
    await signInAs(holder.page, token);
    const before = holder.complaints.length;
    const panel = holder.page.getByRole('region', { name: 'Limits of your group' });
    await panel.getByText('Team A').waitFor();
    await panel.getByText(/of 20\.00 EUR of the budget/).waitFor();
    await holder.page.getByRole('region', { name: 'How long quotas last' }).getByText('messages').first().waitFor();
    expect(await accessibilityProblems(holder.page)).toEqual([]);
    expect(holder.complaints.slice(before)).toEqual([]);
    await holder.context.close();
  });

  it('deletes it, and its token stays valid without a group', async () => {
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog().getByText('1 token will have no group').waitFor();
    await submit('Delete group');
    await page.getByText('No groups yet').waitFor();
    await goTo(page, '/tokens');
    await page.getByRole('rowheader', { name: 'team-a-ci' }).waitFor();
    expect(visited.complaints.slice(complaintsBefore)).toEqual([]);
  });
});
