import { join } from 'node:path';
import { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { localDayOf } from '@gateway/time';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { adminClient } from '../client/operator.ts';
import { issueToken, type TestToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings } from '../topologies/topology.ts';
import { accessibilityProblems, goTo, overflow, startBrowser, visit } from './browser.ts';
import { writeConsoleGatewayFile } from './console-gateway-file.ts';
import { issueTeams, letTeamsWork, operateOn } from './console-traffic.ts';
import { recordMonth } from './month-of-usage.ts';
import { signInAs } from './sign-in-as.ts';

// The operators' daily questions, to a real gateway under traffic and faults. The page must agree
// with the ledger and the command line.

let gateway: AllInOneTopology;
let browser: Browser;
let token: TestToken;

beforeAll(async () => {
  [gateway, browser] = await Promise.all([startAllInOne('console', {}, writeConsoleGatewayFile), startBrowser()]);
  token = await issueToken(gateway, { requestsPerMinute: 1_000, tokensPerDay: 1_000_000 });
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

/** A page as the admin sees it. It must be free of problems, and accessible. */
async function look(path: string, walk: (page: Page) => Promise<void>): Promise<void> {
  const { page, context, complaints } = await visit(browser, gateway.adminUrl, { theme: 'light', width: 1440 });
  await signInAs(page, gateway.adminToken);
  // First, the page asks who has signed in.
  const before = complaints.length;
  await goTo(page, path);
  await walk(page);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(complaints.slice(before)).toEqual([]);
  await context.close();
}

const isThere = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
const ask = (session: string = crypto.randomUUID(), text = token.text) =>
  chat(gateway, text, { model: 'gateway/sterk' }, { headers: { 'session-id': session } });

/** Requests are in the log a moment after they have ended. */
const isLogged = (requestId: string) =>
  expect
    .poll(() => adminClient(RequestService, gateway).getRequest({ requestId }))
    .toMatchObject({ request: { request: { requestId, receivedAtMs: expect.any(Number) } } });

/**
 * A request whose first account was limited, and which the other one served. Returns its id, and
 * the limited account.
 */
async function movedRequest(text = token.text) {
  const session = crypto.randomUUID();
  await ask(session, text);
  const account = gateway.simulator.requests({ model: 'gpt-5.5' }).at(-1)?.account ?? '';
  gateway.simulator.faults.add({
    account,
    times: 1,
    fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 600 },
  });
  const { status, headers } = await ask(session, text);
  expect(status).toBe(200);
  return { requestId: headers.get('x-request-id') ?? '', account: account.replace('-', '/') };
}

describe('the console on a gateway under traffic and faults', () => {
  it('says that it is healthy, with the requests that go through', async () => {
    const asked: Promise<unknown>[] = [];
    const traffic = setInterval(() => asked.push(ask()), 100);
    await look('/', async (page) => {
      await isThere(page, 'Live');
      const requests = page.locator('section', { has: page.getByRole('heading', { name: 'Requests', exact: true }) });
      const perSecond = requests.locator('.figure').first();
      await expect.poll(() => perSecond.textContent()).toMatch(/^([1-9]\d?|\d\.\d*[1-9]\d*)$/);
    }).finally(() => clearInterval(traffic));
    await Promise.all(asked);
  });

  it('says why a request went where it went, and which account is limited until when', async () => {
    const { requestId, account } = await movedRequest();
    // Pasted at once: the page waits until the log has it.
    await look('/', async (page) => {
      await page.getByLabel('Find a request, token or account').fill(requestId);
      await page.keyboard.press('Enter');
      await isThere(page, 'The provider rate limited the account (429)');
      await isThere(page, `${account} failed`);
      await page.getByRole('listitem').filter({ hasText: 'Ingest' }).waitFor();
    });
    await look('/pools/responses', async (page) => {
      const name = page.getByRole('link', { name: account.split('/')[1] ?? '', exact: true });
      const row = page.getByRole('row').filter({ has: name });
      await row.getByText(/gpt-5\.5: rate limited by the provider, available in (9|10)\smin/).waitFor();
    });
    const { stdout } = await gatewayctl(['request', requestId], commandLineSettings(gateway));
    expect(stdout).toContain(account);
    expect(stdout).toMatch(/in the ledger after/);
  });

  it('shows usage that agrees with the ledger, the client and the command line', async () => {
    await Promise.all(Array.from({ length: 10 }, () => ask()));
    const { today } = await usageOf(gateway, token.text);
    const [input, output] = [today.inputTokens, today.outputTokens];
    const day = localDayOf(Date.now());
    await look(`/usage?by=token&from=${day}&to=${day}`, async (page) => {
      const sums = page.getByRole('region', { name: 'Totals of the period' });
      const figure = (label: string) =>
        sums.locator('div', { hasText: label }).locator('dd.figure').first().textContent();
      // Other tokens have no usage here.
      await expect.poll(() => figure('Requests')).toBe(String(today.requests));
      expect(digits((await figure('Input tokens')) ?? '')).toBe(input);
      expect(digits((await figure('Output tokens')) ?? '')).toBe(output);
    });
    const report = adminClient(UsageService, gateway);
    const { rows } = await report.reportUsage({ firstDay: day, lastDay: day, grouping: UsageGrouping.TOKEN });
    expect(rows.map(({ usage }) => [usage?.tokenId, Number(usage?.totals?.requests)])).toEqual([
      [token.tokenId, today.requests],
    ]);
    const { stdout } = await gatewayctl(
      ['usage', 'report', '--from', day, '--to', day, '--by', 'token', '-o', 'json'],
      commandLineSettings(gateway),
    );
    expect(JSON.parse(stdout)).toMatchObject([
      { usage: { totals: { requests: today.requests, inputTokens: input, outputTokens: output } } },
    ]);
  });

  it('gives a team a token that streams at once, and keeps to its limits', async () => {
    let text = '';
    await look('/tokens/new', async (page) => {
      await page.getByLabel('Label').fill('team x');
      await page.getByLabel('Requests per minute').fill('2');
      await page.getByRole('button', { name: 'Issue token', exact: true }).click();
      text = (await page.locator('.secret code').first().textContent()) ?? '';
    });
    const first = await chat(gateway, text, { model: 'gateway/sterk', stream: true });
    expect([first.status, first.text.trimEnd().endsWith('data: [DONE]')]).toEqual([200, true]);
    expect((await chat(gateway, text, { model: 'gateway/sterk' })).status).toBe(200);
    const third = await chat(gateway, text, { model: 'gateway/sterk' });
    expect(third.status).toBe(429);
    const refused = third.headers.get('x-request-id') ?? '';
    await isLogged(refused);
    await look(`/requests/${refused}`, (page) => isThere(page, 'The token reached its limit of requests per minute.'));
  });
});

/**
 * With this variable the pictures of docs/operate/console.md are retaken, after some minutes of
 * traffic.
 */
const takesPictures = process.env.UPDATE_SCREENSHOTS === '1';
const pictures = join(import.meta.dirname, '../../docs/operate/console');

describe('the pages that docs show', () => {
  let movedId = '';
  beforeAll(
    async () => {
      const teams = await issueTeams(gateway);
      if (takesPictures) await recordMonth(gateway, teams);
      await letTeamsWork(gateway, teams, takesPictures ? 270_000 : 3_000);
      const slow = gateway.simulator.faults.add({
        fault: { kind: 'delay', beforeHeadersMs: 240, beforeFirstEventMs: 90 },
      });
      movedId = (await movedRequest(teams[0]?.text)).requestId;
      gateway.simulator.faults.clear(slow);
      await operateOn(gateway, teams);
    },
    takesPictures ? 400_000 : 60_000,
  );

  const pictured = [
    // Each further page begins a session, which is audited.
    ['audit', '/audit', 'light', 1440],
    ['overview', '/', 'dark', 1440],
    ['overview', '/', 'light', 360],
    ['request', '/requests/', 'light', 1440],
    ['overview', '/', 'light', 1440],
    ['requests', '/requests', 'light', 1440],
    ['pools', '/pools/responses', 'light', 1440],
    ['usage', '/usage', 'light', 1440],
    ['tokens', '/tokens', 'light', 1440],
  ] as const;
  // Earlier tests cover the last ones.
  const looked = takesPictures ? pictured : pictured.slice(0, 4);
  it.each(looked)('%s at %s, in %s at %i px, is accessible and fits', async (name, path, theme, width) => {
    const { page, context } = await visit(browser, gateway.adminUrl, { theme, width });
    await signInAs(page, gateway.adminToken);
    await goTo(page, name === 'request' ? `${path}${movedId}` : path);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    if (takesPictures) await page.screenshot({ path: join(pictures, `${name}-${theme}-${width}.png`) });
    await context.close();
  });
});

function digits(text: string): number {
  return Number(text.replace(/\D/g, ''));
}
