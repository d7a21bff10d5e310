import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { openSqlite } from '@gateway/database/sqlite';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { browserOptions, goTo, visit } from './browser.ts';
import { signInAs } from './sign-in-as.ts';

// Attacks on a running gateway, by a real browser if one is needed: they are refused, and in the
// audit log.

const evil = 'evil.example';
let gateway: AllInOneTopology;
let browser: Browser;
let viewerToken: string;

beforeAll(async () => {
  // A name that resolves to this machine, as in DNS rebinding.
  const { args, ...options } = await browserOptions();
  [gateway, browser] = await Promise.all([
    startAllInOne('refusals'),
    chromium.launch({ ...options, args: [...args, `--host-resolver-rules=MAP ${evil} 127.0.0.1`] }),
  ]);
  const operators = adminClient(OperatorService, gateway);
  viewerToken = (await operators.createOperator({ name: 'vera', role: Role.VIEWER })).token;
});
afterAll(async () => {
  await browser?.close();
  await gateway?.[Symbol.asyncDispose]();
});

const listOperators = '/gateway.admin.v1.OperatorService/ListOperators';
const createOperator = '/gateway.admin.v1.OperatorService/CreateOperator';
const eve = JSON.stringify({ name: 'eve', role: 'ROLE_ADMIN' });

async function audited() {
  const { entries } = await adminClient(AuditService, gateway).listAudit({});
  return entries.map(({ actor, action, subject }) => ({ actor, action, subject }));
}

async function operatorNames() {
  const { operators } = await adminClient(OperatorService, gateway).listOperators({});
  return operators.map(({ name }) => name);
}

async function signedIn(token: string): Promise<Page> {
  const { page } = await visit(browser, gateway.adminUrl, { theme: 'light', width: 1440 });
  await signInAs(page, token);
  return page;
}

/**
 * Makes a call as a script of the page does. Returns the status; 0 if the browser itself blocked
 * it.
 */
function callFrom(page: Page, url: string, init: object): Promise<number> {
  const script = `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(({ status }) => status, () => 0)`;
  return page.evaluate<number>(script);
}

const post = (body: string, headers: Readonly<Record<string, string>> = {}) => ({
  ...{ method: 'POST', credentials: 'include', body },
  headers: { 'content-type': 'application/json', ...headers },
});

describe('refused, and in the audit log, is', () => {
  it('a page whose name was rebound to this machine', async () => {
    const { page } = await visit(browser, gateway.adminUrl, { theme: 'light', width: 1440 });
    const port = new URL(gateway.adminUrl).port;
    const answer = await page.goto(`http://${evil}:${port}/`);
    expect(answer?.status()).toBe(403);
    expect(await callFrom(page, createOperator, post(eve))).toBe(403);
    expect(await audited()).toContainEqual({
      actor: '',
      action: 'page.refuse',
      subject: `Host ${evil}:${port}: GET /`,
    });
  });

  it("a page of another site that calls through an operator's browser", async () => {
    const page = await signedIn(gateway.adminToken);
    await using site = await anotherSite();
    await page.goto(site.url);
    expect(await callFrom(page, gateway.adminUrl + createOperator, post(eve))).toBe(0);
    // A request that a browser sends without a preflight.
    const simple = { method: 'POST', credentials: 'include', mode: 'no-cors', body: eve };
    expect(await callFrom(page, gateway.adminUrl + createOperator, simple)).toBe(0);
    expect(await operatorNames()).not.toContain('eve');
    expect(
      (await audited()).filter(({ action, subject }) => action === 'page.refuse' && subject.includes('Origin')),
    ).toMatchObject([{ subject: expect.stringContaining(site.url) }]);
  });

  it('a cookie that was stolen, from another site and without its csrf token', async () => {
    const page = await signedIn(gateway.adminToken);
    const cookies = await page.context().cookies();
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    const call = (headers: Readonly<Record<string, string>>) =>
      fetch(gateway.adminUrl + createOperator, post(eve, { cookie, ...headers }) as RequestInit);
    expect((await call({})).status).toBe(403);
    expect((await call({ origin: 'https://evil.example', 'x-csrf-token': 'guessed' })).status).toBe(403);
    expect((await call({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect(await operatorNames()).not.toContain('eve');
    expect(await audited()).toContainEqual({
      ...{ actor: 'admin', action: 'call.refuse', subject: 'OperatorService.CreateOperator' },
    });
  });

  it('a viewer who changes something, with a session and a csrf token that are right', async () => {
    const page = await signedIn(viewerToken);
    const csrf =
      await page.evaluate<string>(`fetch('/gateway.admin.v1.SessionService/GetSession', ${JSON.stringify(post('{}'))})
      .then((answer) => answer.json()).then(({ session }) => session.csrfToken)`);
    for (const path of [createOperator, listOperators, '/gateway.admin.v1.TokenService/IssueToken']) {
      expect(await callFrom(page, path, post(eve, { 'x-csrf-token': csrf })), path).toBe(403);
    }
    expect(await operatorNames()).not.toContain('eve');
    expect((await audited()).filter(({ actor }) => actor === 'vera')).toContainEqual({
      ...{ actor: 'vera', action: 'call.refuse', subject: 'OperatorService.CreateOperator' },
    });
  });

  it('a session that has expired, which asks to sign in again', async () => {
    const page = await signedIn(viewerToken);
    // A page without requests of its own: other pages would notice before the click.
    await goTo(page, '/search?q=nobody');
    await using stack = new AsyncDisposableStack();
    const database = stack.use(
      await openSqlite(join(dirname(gateway.gatewayFile), 'data/gateway.sqlite'), { checkpointMs: 1_000 }),
    );
    await database.updateTable('operator_sessions').set({ expires_at_ms: Date.now() }).execute();
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByText('Your session has expired.').waitFor();
    await goTo(page, '/');
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect((await audited()).map(({ action }) => action)).toContain('session.refuse');
  });

  it('a hundred wrong tokens, which take one row', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 100; n++) {
      const path = '/gateway.admin.v1.SessionService/SignIn';
      const answer = await fetch(gateway.adminUrl + path, post(JSON.stringify({ token: `hunter${n}` })) as RequestInit);
      statuses.push(answer.status);
    }
    expect(new Set(statuses.slice(0, 5))).toEqual(new Set([401]));
    expect(new Set(statuses.slice(10))).toEqual(new Set([429]));
    const { entries } = await adminClient(AuditService, gateway).listAudit({ search: 'an unknown token' });
    expect(entries.map(({ action, after }) => [action, after])).toEqual([
      ['session.refuse', expect.stringContaining('100')],
    ]);
  });
});

it('a scan of the port without a login finds the sign-in page with its files, health and metrics, and nothing else', async () => {
  const page = await fetch(`${gateway.adminUrl}/`);
  const signInPage = await page.text();
  const files = [...signInPage.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(files.length).toBeGreaterThan(1);
  const found: string[] = [];
  for (const path of [...scanned, ...files, '/livez', '/readyz', '/metrics']) {
    const answer = await fetch(gateway.adminUrl + path, { redirect: 'manual' });
    const text = await answer.text();
    if (answer.status < 400 && text !== signInPage) found.push(path);
  }
  expect(found.toSorted()).toEqual([...new Set(files), '/livez', '/metrics', '/readyz'].toSorted());
});

const scanned = [
  ...['/', '/admin', '/login', '/tokens', '/operators', '/index.html', '/assets', '/assets/', '/settings', '/config'],
  ...[
    '/.env',
    '/.git/config',
    '/package.json',
    '/gateway.yaml',
    '/data/gateway.sqlite',
    '/admin-token',
    '/debug/pprof',
  ],
  ...['/export/usage', '/export/requests', '/oidc/sign-in', '/oidc/callback', '/v1/models', '/v1/usage', '/api'],
  ...[listOperators, createOperator, '/gateway.identity.v1.IdentityService/List', '/..%2fpackage.json', '/%00'],
];

/** A page that is not of the gateway. */
async function anotherSite() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Prizes</title><h1>You have won</h1>');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://${evil}:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}
