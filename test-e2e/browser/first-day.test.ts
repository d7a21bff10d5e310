import OpenAI from 'openai';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { accessibilityProblems, goTo, startBrowser, visit } from './browser.ts';
import { type FirstDayScene, openFirstDay, type Welcome } from './first-day-scene.ts';
import { RecordedWalk } from './recorded-walk.ts';
import { signInAs } from './sign-in-as.ts';

// The first day of an operator, with the command line, the console and a client: from a key that
// the provider rejects to a report of who used what.

const walk = new RecordedWalk();
let scene: FirstDayScene;
let browser: Browser;

beforeAll(async () => {
  [scene, browser] = await Promise.all([openFirstDay(walk), startBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await scene[Symbol.asyncDispose]();
});

describe('an operator on the first day', () => {
  it('learns why requests fail, fixes it, gives a team a token, and sees who used what', async () => {
    const gateway = await walk.step('npm start, with a key that the provider rejects', startGateway);
    const failedId = await walk.step('clients get 503', () => failRequests(gateway));
    await walk.step('the cause: gatewayctl doctor', () => findCauseByDoctor(gateway));
    await walk.step('the cause: gatewayctl pool status, account list', () => findCauseByLists(gateway));
    const page = await walk.step('the cause: console', () => findCauseInConsole(gateway));
    await walk.step('the fix: another key, with gatewayctl account', () => replaceKey(gateway));
    await walk.step('the fix: the address, in gateway.yaml', () => correctAddress(gateway, page));
    const teamToken = await walk.step('a token for a team', () => issueTeamToken(gateway));
    const used = await walk.step('a client streams with it', () => streamTwice(gateway, teamToken));
    await walk.step('why it failed: gatewayctl request', () => explainByCommand(gateway, failedId));
    await walk.step('why it failed: console', () => explainInConsole(page, failedId));
    await walk.step('who used what: gatewayctl usage report', () => reportByCommand(gateway, used));
    await walk.step('who used what: console', () => reportInConsole(page, used));

    walk.read('the output of npm start', gateway.output());
    expect(walk.placesOf([...scene.secrets, gateway.operatorToken])).toEqual([]);
    expect(walk.placesOf([gateway.clientToken])).toEqual(['the welcome', 'the output of npm start']);
    expect(walk.placesOf([teamToken])).toEqual([`gatewayctl ${issueCommand.join(' ')}`]);
    process.stderr.write(`The first day of an operator:\n${walk.table()}`);
  });
});

const rejected = '401 from the provider';
const refused = () => `connection refused by ${scene.deadAddress}`;

async function startGateway(): Promise<Welcome> {
  const gateway = await scene.start();
  expect(gateway.text).toMatch(new RegExp(`responses: .*${rejected}`));
  expect(gateway.text).toMatch(new RegExp(`messages: .*${refused()}`));
  return gateway;
}

/** By the official client, without and with a retry. Returns the id of the first request. */
async function failRequests(gateway: Welcome): Promise<string> {
  const fail = async (maxRetries: number) => {
    const { chat } = openAiClient(gateway, gateway.clientToken, { maxRetries });
    const thrown = await rejectionOf(chat.completions.create({ model: 'gateway/sterk', messages: hello }));
    if (!(thrown instanceof OpenAI.APIError)) throw thrown;
    walk.read('the error of the client', `${thrown.message} ${JSON.stringify(thrown.error)}`);
    expect([thrown.status, thrown.code]).toEqual([503, 'providers_unavailable']);
    expect(`${thrown.message} ${JSON.stringify(thrown.error)}`).not.toContain(scene.deadAddress);
    return thrown.requestID ?? '';
  };
  const first = await fail(0);
  await fail(1);
  return first;
}

const hello: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello there' }];

async function findCauseByDoctor({ ctl }: Welcome): Promise<void> {
  const doctor = () => ctl('doctor');
  await expect.poll(doctor).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(`responses/team-a is failing: ${rejected}`),
  });
  expect((await doctor()).stdout).toMatch(new RegExp(`messages/team-a is failing: ${refused()}`));
}

async function findCauseByLists({ ctl }: Welcome): Promise<void> {
  for (const command of [
    ['pool', 'status'],
    ['account', 'list'],
  ]) {
    const { exitCode, stdout } = await ctl(...command);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`team-a .*${rejected}`));
    expect(stdout).toMatch(new RegExp(`team-a .*${refused()}`));
  }
}

async function findCauseInConsole({ consoleUrl, operatorToken }: Welcome): Promise<Page> {
  const { page } = await visit(browser, consoleUrl, { theme: 'light', width: 1440 });
  await signInAs(page, operatorToken);
  await goTo(page, '/');
  const attention = page.getByRole('link', { name: `responses/team-a is failing: ${rejected}` });
  await attention.waitFor();
  await readPage(page);
  await attention.click();
  await page.getByRole('heading', { level: 1, name: 'responses' }).waitFor();
  await accountRow(page, 'team-a').getByText(rejected).waitFor();
  await readPage(page);
  await goTo(page, '/pools/messages');
  await accountRow(page, 'team-a').getByText(refused()).waitFor();
  await readPage(page);
  return page;
}

/**
 * The key is in the environment of the process, which does not change: the account of the file is
 * disabled, and another one takes its place.
 */
async function replaceKey({ ctl }: Welcome): Promise<void> {
  const secretFile = ['--secret-file', scene.rightKeyFile] as const;
  const ofFile = await ctl('account', 'replace-credential', 'responses/team-a', ...secretFile);
  expect(ofFile).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('restart the gateway with the new value'),
  });
  expect(await ctl('account', 'add', 'responses/team-b', ...secretFile)).toMatchObject({ exitCode: 0 });
  expect(await ctl('account', 'disable', 'responses/team-a')).toMatchObject({ exitCode: 0 });
  const { stdout } = await ctl('pool', 'explain', 'gateway/sterk');
  expect(stdout).toContain('responses/team-b would serve it.');
}

/** The console shows the change without being loaded again. */
async function correctAddress({ ctl }: Welcome, page: Page): Promise<void> {
  await scene.correctAddress();
  await goTo(page, '/');
  await page
    .getByText(/is failing|can't be read/)
    .first()
    .waitFor({ state: 'detached' });
  await readPage(page);
  await expect.poll(async () => (await ctl('doctor')).stdout).not.toMatch(/is failing|can't be read/);
}

async function issueTeamToken({ ctl }: Welcome): Promise<string> {
  const { exitCode, stdout } = await ctl(...issueCommand);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^gw_s_\w+\n$/);
  return stdout.trim();
}

const team = 'team-payments';
const issueCommand = ['token', 'create', '--kind', 'service', '--label', team, '--rpm', '60', '--tpd', '100000'];

/** Returns the usage that the provider reported to the client. */
async function streamTwice(gateway: Welcome, token: string) {
  const client = openAiClient(gateway, token);
  const used = { requests: 0, input: 0, output: 0 };
  for (const content of ['Hello there', 'What did the team use today?']) {
    const stream = client.chat.completions.stream({
      ...{ model: 'gateway/sterk', messages: [{ role: 'user', content }] },
      stream_options: { include_usage: true },
    });
    expect(await stream.finalContent()).toBe(`echo: ${content}`);
    const { prompt_tokens, completion_tokens } = await stream.totalUsage();
    used.requests += 1;
    used.input += prompt_tokens;
    used.output += completion_tokens;
  }
  return used;
}

async function explainByCommand({ ctl }: Welcome, requestId: string): Promise<void> {
  const { exitCode, stdout } = await ctl('request', requestId);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/failed 503 providers_unavailable/);
  expect(stdout).toMatch(/^1\. Sent to responses\/team-a .*\(401\)/m);
  expect(stdout).toMatch(new RegExp(`^2\\. Sent to messages/team-a .*unreachable.*: ${refused()}\\.$`, 'm'));
  expect(stdout).toMatch(/^No other account was available\.$/m);
}

/** From the id that the client has, by the search box. */
async function explainInConsole(page: Page, requestId: string): Promise<void> {
  await page.getByRole('searchbox').fill(requestId);
  await page.keyboard.press('Enter');
  const summary = page.getByRole('region', { name: 'Summary' });
  await summary.getByText('Failed 503').waitFor();
  await summary.getByText(`responses/team-a: ${rejected}; messages/team-a: ${refused()}.`).waitFor();
  const attempts = page.getByRole('listitem');
  const attemptAt = (account: string) => attempts.filter({ has: page.getByRole('link', { name: account }) });
  await attemptAt('responses/team-a').getByText('(401)').waitFor();
  await attemptAt('messages/team-a').getByText(`unreachable, or the connection broke: ${refused()}.`).waitFor();
  await readPage(page);
  expect(await accessibilityProblems(page)).toEqual([]);
}

interface Used {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
}

async function reportByCommand({ ctl }: Welcome, { requests, input, output }: Used): Promise<void> {
  const report = async () => (await ctl('usage', 'report', '--from', 'today', '--by', 'token')).stdout;
  await expect.poll(report).toMatch(new RegExp(`^${team} .* ${requests} +${input} .* ${output} `, 'm'));
}

async function reportInConsole(page: Page, { requests, input, output }: Used): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('radio', { name: 'By token' }).check();
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: team }) });
  const cells = row.getByRole('cell');
  await expect
    .poll(async () => (await cells.allTextContents()).map(digits))
    .toEqual(expect.arrayContaining([requests, input, output]));
  await readPage(page);
}

function accountRow(page: Page, name: string) {
  return page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
}

async function readPage(page: Page): Promise<void> {
  walk.read(`the page ${new URL(page.url()).pathname}`, await page.content());
}

function digits(text: string): number {
  return Number(text.replace(/\D/g, ''));
}
