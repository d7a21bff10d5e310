import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { IssueTokenResponseSchema, TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { issueToken } from '../client/tokens.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { withSignIn } from '../topologies/with-sign-in.ts';
import { answerProvider } from './answer-provider.ts';
import { accessibilityProblems, goTo, overflow, startBrowser, visit } from './browser.ts';
import { writeConsoleGatewayFile } from './console-gateway-file.ts';
import { signInAs } from './sign-in-as.ts';

/** With this variable the picture of docs/operate/console.md is retaken. */
const takesPictures = process.env.UPDATE_SCREENSHOTS === '1';
const picture = join(import.meta.dirname, '../../docs/operate/console/playground-light-1440.png');

let gateway: AllInOneTopology;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([startAllInOne('playground', {}, writeConsoleGatewayFile), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.[Symbol.asyncDispose]();
});

/** The playground as the holder of this token sees it. It must be accessible, and fit. */
async function play(token: string, walk: (page: Page) => Promise<void>, width: 360 | 1440 = 1440): Promise<void> {
  const { page, context, complaints } = await visit(browser, gateway.adminUrl, { theme: 'light', width });
  await signInAs(page, token);
  const before = complaints.length;
  await goTo(page, '/playground');
  await walk(page);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  // The log has a request a moment after its end: the first question may come too early.
  expect(complaints.slice(before).filter((text) => !text.includes('404'))).toEqual([]);
  await context.close();
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const isThere = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

async function issueForPage(page: Page): Promise<void> {
  await button(page, 'Issue a token for this page').click();
  await page.getByRole('combobox', { name: 'Model' }).waitFor();
}

async function paste(page: Page, token: string): Promise<void> {
  await page.getByLabel(/token that you have|Your token/).fill(token);
  await button(page, 'Use token').click();
}

describe('an operator', () => {
  it('streams an answer from each endpoint, and sees its usage and its decision trace', () =>
    play(gateway.adminToken, async (page) => {
      await issueForPage(page);
      for (const endpoint of ['Chat completions', 'Messages', 'Responses']) {
        await page.getByRole('radio', { name: endpoint }).check();
        await button(page, 'Send').click();
        await panel(page, 'Answer').getByText('Complete', { exact: true }).waitFor();
        await panel(page, 'Text of the answer').waitFor();
        await panel(page, 'Answer')
          .getByText(/\d in, .*\d out/)
          .waitFor();
        await panel(page, 'Answer').getByText('x-ratelimit-remaining-requests', { exact: true }).waitFor();
        await panel(page, 'Decision trace').getByText('succeeded').first().waitFor();
        expect(await accessibilityProblems(page)).toEqual([]);
        if (takesPictures && endpoint === 'Chat completions') await page.screenshot({ path: picture, fullPage: true });
      }
    }));

  it('has a token for the page alone: no storage and no address has it, and leaving revokes it', async () => {
    const tokens = adminClient(TokenService, gateway);
    await play(gateway.adminToken, async (page) => {
      const issuing = page.waitForResponse((response) => response.url().endsWith('/IssueToken'));
      await issueForPage(page);
      const issued = fromJson(IssueTokenResponseSchema, (await (await issuing).json()) as JsonValue);
      const { tokenText, token: { tokenId = '' } = {} } = issued;
      expect(tokenText).toMatch(/^gw_s_/);
      const stored = async () => (await tokens.getToken({ token: tokenId })).token?.token;
      const { label, limits, expiresAtMs, revokedAtMs } = (await stored()) ?? expect.fail();
      expect(limits).toMatchObject({ requestsPerMinute: 60, tokensPerDay: 1_000_000 });
      expect([label, revokedAtMs]).toEqual(['playground of admin', undefined]);
      expect(expiresAtMs).toBeLessThan(Date.now() + 3_700_000);
      await button(page, 'Send').click();
      await panel(page, 'Answer').getByText('Complete', { exact: true }).waitFor();
      const kept = await page.evaluate<string>(
        'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, document.body.innerHTML])',
      );
      expect(kept).not.toContain(tokenText);
      await page.getByRole('link', { name: 'Usage', exact: true }).click();
      await expect.poll(async () => (await stored())?.revokedAtMs).toBeDefined();
    });
  });

  it('stops an answer, which ends at the provider too', () =>
    play(gateway.adminToken, async (page) => {
      const { faults } = gateway.simulator;
      const slow = faults.add({ fault: { kind: 'delay', beforeFirstEventMs: 0, betweenEventsMs: 2_000 } });
      await issueForPage(page);
      await button(page, 'Send').click();
      await isThere(page, 'Receiving the answer');
      await button(page, 'Stop').click();
      await panel(page, 'Answer').getByText('Stopped').waitFor();
      await expect.poll(() => button(page, 'Stop').count()).toBe(0);
      await panel(page, 'Decision trace').getByText('client left').first().waitFor();
      faults.clear(slow);
    }));

  it('sees refusals as a client does', async () => {
    const { text } = await issueToken(gateway, { requestsPerMinute: 2, tokensPerDay: 1_000_000 });
    await play(gateway.adminToken, async (page) => {
      await paste(page, text);
      await page.getByRole('combobox', { name: 'Model' }).waitFor();
      await page.getByLabel('Edit as JSON').check();
      const body = page.getByLabel('Body');
      await body.fill((await body.inputValue()).replace('gateway/sterk', 'no-such-model'));
      await button(page, 'Send').click();
      await panel(page, 'Answer').getByText('HTTP 404').waitFor();
      await isThere(page, /model_not_found/);
      await button(page, 'Send').click();
      await panel(page, 'Answer').getByText('HTTP 429').waitFor();
      await isThere(page, /rate_limit_exceeded/);
      await panel(page, 'Answer').getByText('retry-after', { exact: true }).waitFor();
      await button(page, 'Use another token').click();
      await paste(page, gateway.adminToken);
      await isThere(page, "This is an operator's token.");
    });
  });

  it('copies a command that sends the same request, without the token', async () => {
    const { text } = await issueToken(gateway, { requestsPerMinute: 60, tokensPerDay: 1_000_000 });
    await play(gateway.adminToken, async (page) => {
      await paste(page, text);
      await page.getByRole('combobox', { name: 'Model' }).waitFor();
      await page.getByLabel('Prompt', { exact: true }).fill('It\'s a "test" of $HOME and `id`.');
      const command = (await panel(page, 'Command').textContent()) ?? '';
      expect(command).toContain('$GATEWAY_TOKEN');
      expect(command).not.toContain(text);
      const reached = command.replace(/http:[^']+(?=\/v1)/, gateway.baseUrl);
      const env = { ...process.env, GATEWAY_TOKEN: text };
      const { stdout } = await promisify(execFile)('sh', ['-c', reached], { env });
      expect(stdout).toContain('data: [DONE]');
    });
  });

  it('works by keyboard alone, on a phone', () =>
    play(
      gateway.adminToken,
      async (page) => {
        await button(page, 'Issue a token for this page').focus();
        await page.keyboard.press('Enter');
        await page.getByRole('combobox', { name: 'Model' }).waitFor();
        await page.getByLabel('Prompt', { exact: true }).focus();
        await page.keyboard.press('Control+Enter');
        await panel(page, 'Answer').getByText('Complete', { exact: true }).waitFor();
        await expect.poll(() => panel(page, 'Answer').getByRole('status').textContent()).toBe('CompleteHTTP 200');
      },
      360,
    ));
});

describe('the holder of a client token', () => {
  it('uses it, and sees no trace of other parts of the gateway', async () => {
    const { text } = await issueToken(gateway, { requestsPerMinute: 60, tokensPerDay: 1_000_000 });
    await play(text, async (page) => {
      await expect.poll(() => button(page, 'Issue a token for this page').count()).toBe(0);
      await paste(page, text);
      await page.getByRole('combobox', { name: 'Model' }).waitFor();
      await page.getByLabel('Stream the answer').uncheck();
      await button(page, 'Send').click();
      await panel(page, 'Answer').getByText('Complete', { exact: true }).waitFor();
      await isThere(page, 'Only operators see which accounts were tried');
    });
  });
});

describe('a person without a role', () => {
  it('issues a token of their own for the page, which is revoked when they leave', async () => {
    await using own = await withSignIn((env) => startAllInOne('playground-person', env, writeConsoleGatewayFile));
    const { page, context, complaints } = await visit(browser, own.adminUrl, { theme: 'light', width: 1440 });
    await goTo(page, '/playground');
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
    await answerProvider(page, own.provider.issuer, 'dana');
    await page.waitForURL(`${own.adminUrl}/playground`);
    // The provider's pages have complaints of their own.
    const before = complaints.length;
    await issueForPage(page);
    await button(page, 'Send').click();
    await panel(page, 'Answer').getByText('Complete', { exact: true }).waitFor();
    await isThere(page, 'Only operators see which accounts were tried');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'My usage' }).click();
    await isThere(page, 'No token yet');
    expect(complaints.slice(before)).toEqual([]);
    await context.close();
  });
});
