import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { anAdminWorld, asBrowser } from '../__fixtures__/admin-world.ts';
import { consoleFiles } from './console-files.ts';

const evil = 'https://evil.example';

describe('a page of somebody else', () => {
  it.each(['evil.example', 'evil.example:9090', 'localhost.evil.example', '127.0.0.1.evil.example', 'admin'])(
    'does not get in by the name %s, and that is audited',
    async (host) => {
      const world = await anAdminWorld();
      const { bearer } = await world.operator('admin');
      for (const headers of [{ host }, { host, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }]) {
        expect(await world.send('GET', '/', headers)).toMatchObject({
          status: 403,
          text: expect.stringContaining(`add ${host.replace(':9090', '')} to the setting ADMIN_ALLOWED_HOSTS`),
        });
      }
      expect((await world.call('OperatorService.ListOperators', {}, { ...bearer, host })).status).toBe(403);
      expect(await world.audited()).toMatchObject([
        { action: 'page.refuse', outcome: 'refused', subject: `Host ${host}: GET /` },
      ]);
      expect(await world.metrics.exposition()).toContain('gateway_admin_refusals_total{reason="host"} 3');
    },
  );

  it.each([evil, 'http://localhost:3000', 'https://127.0.0.1:9090', 'null', 'file://', ''])(
    'does not call with the origin %j, whatever session comes with it',
    async (origin) => {
      const world = await anAdminWorld();
      const session = await world.signIn((await world.operator('admin')).token);
      const headers = { ...asBrowser(session), host: 'localhost:9090', origin };
      expect((await world.call('OperatorService.CreateOperator', { name: 'eve' }, headers)).status).toBe(403);
      expect(await world.operators.list()).toHaveLength(1);
      expect((await world.audited()).at(-1)).toMatchObject({ action: 'page.refuse', outcome: 'refused' });
    },
  );

  it.each(['cross-site', 'same-site'])('does not call as %s, where a browser sends no origin', async (site) => {
    const world = await anAdminWorld();
    const { cookie, csrfToken } = await world.signIn((await world.operator('admin')).token);
    const headers = { cookie, 'x-csrf-token': csrfToken, 'sec-fetch-site': site };
    expect((await world.call('OperatorService.ListOperators', {}, headers)).status).toBe(403);
    expect((await world.send('GET', '/export/usage', { ...headers, 'sec-fetch-mode': 'navigate' })).status).toBe(403);
  });

  it('may link to the console', async () => {
    const world = await anAdminWorld();
    const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect((await world.send('GET', '/requests/x', visit)).status).not.toBe(403);
    expect((await world.send('GET', '/export/usage', visit)).status).toBe(403);
    expect((await world.send('GET', '/requests/x', { ...visit, 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  });

  it('gets no call through without the content type that makes browsers ask first', async () => {
    const world = await anAdminWorld();
    const { bearer } = await world.operator('admin');
    const path = '/gateway.admin.v1.OperatorService/ListOperators';
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      expect((await world.send('POST', path, { ...bearer, 'content-type': type }, '{}')).status).toBe(415);
    }
    const query = '?encoding=json&connect=v1&message=%7B%7D';
    expect((await world.send('GET', path + query, bearer)).status).toBe(405);
    expect((await world.send('OPTIONS', path, { origin: evil })).status).toBe(405);
  });
});

describe('an operator', () => {
  it.each([
    'localhost',
    'LOCALHOST:9090',
    '127.0.0.1:9090',
    '10.2.3.4',
    '[::1]:9090',
    'ops.example',
    'a.svc',
    'A.b.svc:1',
  ])('finds the console at %s', async (host) => {
    const env = { ADMIN_ALLOWED_HOSTS: 'ops.example, .svc' };
    const world = await anAdminWorld(env);
    const { token } = await world.operator('viewer');
    const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
    expect((await world.call('SessionService.SignIn', { token }, headers)).status).toBe(200);
  });

  it('finds it behind a proxy that calls it by its address', async () => {
    const world = await anAdminWorld({ ADMIN_PUBLIC_URL: 'https://admin.example' });
    const { token } = await world.operator('viewer');
    const signIn = (headers: Record<string, string>) => world.call('SessionService.SignIn', { token }, headers);
    const origin = 'https://admin.example';
    expect((await signIn({ host: '10.2.3.4:9090', origin, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    expect((await signIn({ host: 'admin.example', origin })).status).toBe(200);
    expect((await signIn({ host: '10.2.3.4:9090', origin: evil })).status).toBe(403);
  });
});

describe('without a login', () => {
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
  const paths = [
    ...['/', '/index.html', '/login', '/admin', '/operators', '/audit', '/assets', '/assets/', '/export', '/oidc'],
    ...['/export/usage', '/export/requests', '/oidc/callback', '/oidc/sign-in', '/favicon.ico', '/robots.txt'],
    ...[
      '/.env',
      '/.git/config',
      '/package.json',
      '/%2e%2e/package.json',
      '/..%2f..%2fpackage.json',
      '/assets/../../main.tsx',
    ],
    ...[
      '/api',
      '/v1/models',
      '/wp-login.php',
      '/server-status',
      '/debug/pprof',
      '/%00',
      '/%',
      '/?x=1',
      '//evil.example',
    ],
    '/gateway.identity.v1.IdentityService/Issue',
    '/gateway.pool.v1.CredentialService/GetCredential',
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  ];
  const calls = [
    ...['SessionService/SignOut', 'SessionService/GetSession', 'OperatorService/ListOperators'],
    ...[
      'OperatorService/CreateOperator',
      'AuditService/ListAudit',
      'TokenService/IssueToken',
      'UsageService/GetMyUsage',
    ],
  ].map((name) => `/gateway.admin.v1.${name}`);

  it('there is the sign-in page, and nothing else at any path by any method', async () => {
    const world = await anAdminWorld();
    const signInPage = await readFile(new URL('../__fixtures__/console/index.html', import.meta.url), 'utf8');
    for (const path of [...paths, ...calls]) {
      for (const method of methods) {
        const type = { 'content-type': 'application/json' };
        const answer = await world.send(method, path, type, method === 'POST' ? '{}' : '');
        const what = `${method} ${path}`;
        const isPage = answer.status === 200 && ['GET', 'HEAD'].includes(method);
        if (isPage) expect([signInPage, ''], what).toContain(answer.text);
        else expect([400, 401, 404, 405], what).toContain(answer.status);
        expect(answer.headers['content-security-policy'], what).toContain("frame-ancestors 'none'");
        expect(answer.headers['set-cookie'], what).toBeUndefined();
      }
    }
    for (const path of calls) {
      expect((await world.send('POST', path, { 'content-type': 'application/json' }, '{}')).status, path).not.toBe(200);
    }
    const options = await world.call('SessionService.GetSignInOptions');
    expect([options.status, options.text]).toEqual([200, '{}']);
    expect(await world.operators.list()).toEqual([]);
  });

  it('no page of it may be framed, run scripts of others, or be kept', async () => {
    const world = await anAdminWorld();
    expect((await world.send('GET', '/')).headers['cache-control']).toBe('no-cache');
    const { headers } = await world.call('SessionService.GetSignInOptions');
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(/^default-src 'self'; base-uri 'none'; .*form-action 'self'/),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*/);
    expect(headers['x-powered-by']).toBeUndefined();
  });
});

describe('the console', () => {
  async function built() {
    const folder = await mkdtemp(join(tmpdir(), 'console-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'index.html'), '<title>Gateway</title>');
    await writeFile(join(folder, 'assets/index-a1b2c3.js'), 'run()');
    await writeFile(join(folder, '.secret'), 'hidden');
    return listening(folder);
  }

  async function listening(folder: string) {
    const server = express().use(consoleFiles(folder)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  }

  it('has one page for all of its paths, which is looked for each time', async () => {
    const open = await built();
    for (const path of ['/', '/pools/eu.west', '/requests/chatcmpl-1', '/audit?search=x']) {
      const page = await open(path);
      expect([path, page.status, await page.text()]).toEqual([path, 200, '<title>Gateway</title>']);
      expect(page.headers.get('cache-control')).toBe('no-cache');
    }
  });

  it('has files that browsers cache without limit', async () => {
    const open = await built();
    const script = await open('/assets/index-a1b2c3.js');
    expect(script.headers.get('content-type')).toContain('text/javascript');
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    for (const path of ['/assets/none.js', '/.secret', '/export/none', '/oidc/none']) {
      expect((await open(path)).status).toBe(404);
    }
  });

  it('explains how to build it if it is not built', async () => {
    const page = await (await listening(join(tmpdir(), 'no-console-here')))('/');
    expect(page.status).toBe(503);
    expect(await page.text()).toContain('npm run build:console');
  });
});
