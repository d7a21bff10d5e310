import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TrustedProxies } from '@gateway/config';
import { GrantProblem, SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClient, type Handlers, serviceRoute } from '@gateway/rpc';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EdgeRequest } from '../body/read-body.ts';
import { readEdgeRouterConfig } from '../config.ts';
import { HttpFault } from '../errors/render-error.ts';
import { ManagedClients } from './managed-settings.ts';
import { signInRoutes } from './sign-in-routes.ts';

const identity: Handlers<typeof SignInService> = {
  beginDeviceGrant: () => ({ deviceCode: 'device', userCode: 'KDRT-PQXW', expiresInSeconds: 600, intervalSeconds: 5 }),
  redeemDeviceCode: () => ({}),
  refreshSession: () => ({}),
  endSession: () => ({}),
};

/** The endpoints of the sign-in, and an identity service that answers as given. */
async function openRoutes(
  env: Readonly<Record<string, string>> = {},
  answers: Partial<Handlers<typeof SignInService>> = {},
) {
  const faults: unknown[] = [];
  const config = readEdgeRouterConfig({ PORT: '0', SIGN_IN_PAGE_URL: 'https://admin.example/device', ...env });
  const routes = signInRoutes({
    config,
    proxies: new TrustedProxies(config.trustedProxies),
    signIn: directClient(serviceRoute(SignInService, { ...identity, ...answers })),
    tokens: { resolve: async () => undefined },
    managed: new ManagedClients(),
    onFault: (fault) => faults.push(fault),
  });
  const server = createServer({ IncomingMessage: EdgeRequest }, async (request, response) => {
    const route = routes.find(({ method, path }) => method === request.method && path === request.url);
    try {
      await route?.answer(request, response);
    } catch (thrown) {
      response.writeHead(thrown instanceof HttpFault ? thrown.status : 500).end('{}');
    }
    if (route === undefined) response.writeHead(404).end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url, faults },
    postFrom: async (forwardedFor: string, path: string) =>
      await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'x-forwarded-for': forwardedFor },
        body: new URLSearchParams(),
      }),
    get: async (path: string) => (await fetch(`${url}${path}`)).json(),
    post: async (path: string, form: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form) });
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
    },
  };
}

describe('the sign-in from clients', () => {
  it('names PUBLIC_URL, whatever address the client used', async () => {
    const { get } = await openRoutes({ PUBLIC_URL: 'https://gateway.example', OPENCODE_MODELS: 'gateway/sterk' });
    expect(await get('/.well-known/oauth-authorization-server')).toMatchObject({
      issuer: 'https://gateway.example',
      token_endpoint: 'https://gateway.example/oauth/token',
    });
    expect(await get('/.well-known/opencode')).toMatchObject({
      config: { provider: { gateway: { options: { baseURL: 'https://gateway.example/v1' } } } },
    });
  });

  it('opens a bounded number of grants for an address in a minute', async () => {
    const { post } = await openRoutes();
    const begin = () => post('/oauth/device_authorization', { surface: 'claude_code' });
    for (let n = 0; n < 120; n++) expect((await begin()).status).toBe(200);
    expect(await begin()).toMatchObject({ status: 429, retryAfter: '60', body: { error: 'slow_down' } });
  });

  it('counts grants by network behind proxies that it trusts, and shows the address of the client', async () => {
    const seen: string[] = [];
    const beginDeviceGrant = ({ address }: { readonly address: string }) => {
      seen.push(address);
      return { deviceCode: 'device', userCode: 'KDRT-PQXW', expiresInSeconds: 600, intervalSeconds: 5 };
    };
    const { postFrom } = await openRoutes({ TRUSTED_PROXIES: '127.0.0.1' }, { beginDeviceGrant });
    const begin = (address: string) => postFrom(address, '/oauth/device_authorization');
    for (let n = 0; n < 120; n++) expect((await begin(`1.1.1.1, 2001:db8:1:2::${n}`)).status).toBe(200);
    expect((await begin('2001:db8:1:2:ffff::1')).status).toBe(429);
    expect((await begin('2001:db8:1:3::1')).status).toBe(200);
    expect([seen[0], seen.at(-1)]).toEqual(['2001:db8:1:2::', '2001:db8:1:3::1']);
    const { postFrom: postUntrusted } = await openRoutes({}, { beginDeviceGrant });
    await postUntrusted('198.51.100.1', '/oauth/device_authorization');
    expect(seen.at(-1)).toBe('127.0.0.1');
  });

  it('does not count grants that led to a sign-in', async () => {
    const tokens = { accessToken: 'a', refreshToken: 'r', expiresInSeconds: 3_600, email: '' };
    const redeemDeviceCode = () => ({ result: { case: 'tokens', value: tokens } as const });
    const { post } = await openRoutes({}, { redeemDeviceCode });
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    for (let n = 0; n < 200; n++) {
      expect((await post('/oauth/device_authorization')).status).toBe(200);
      expect((await post('/oauth/token', { grant_type, device_code: `code ${n}` })).status).toBe(200);
    }
  });

  it('answers early polls without asking identity', async () => {
    let asked = 0;
    const redeemDeviceCode = () => {
      asked++;
      return { result: { case: 'problem', value: GrantProblem.AUTHORIZATION_PENDING } as const };
    };
    const { post } = await openRoutes({}, { redeemDeviceCode });
    const poll = (device_code: string) =>
      post('/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code });
    const answers = await Promise.all(Array.from({ length: 50 }, () => poll('one')));
    expect(asked).toBe(2);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(48);
    expect((await poll('another')).body).toMatchObject({ error: 'authorization_pending' });
  });

  it('asks identity about a bounded number of tokens at a time, whatever they are', async () => {
    const held = Promise.withResolvers<object>();
    let running = 0;
    let most = 0;
    const hold = async () => {
      most = Math.max(most, ++running);
      await held.promise;
      running--;
      return {};
    };
    const answers = { refreshSession: hold, endSession: hold, redeemDeviceCode: hold };
    const { post } = await openRoutes({}, answers);
    const asking = Array.from({ length: 20 }, (_, n) => [
      post('/oauth/token', { grant_type: 'refresh_token', refresh_token: `made up ${n}` }),
      post('/oauth/revoke', { token: `made up ${n}` }),
    ]).flat();
    await expect.poll(() => running).toBe(16);
    held.resolve({});
    const statuses = (await Promise.all(asking)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 400]));
    expect(most).toBe(16);
  });

  it('tells clients to keep their session while identity is away', async () => {
    const away = () => {
      throw new Error('no connection');
    };
    const { post, faults } = await openRoutes({}, { refreshSession: away, endSession: away, beginDeviceGrant: away });
    const answer = { status: 503, retryAfter: '5', body: { error: 'temporarily_unavailable' } };
    const refresh = { grant_type: 'refresh_token', refresh_token: 'mine' };
    expect(await post('/oauth/token', refresh)).toMatchObject(answer);
    expect(await post('/oauth/revoke', { token: 'mine' })).toMatchObject(answer);
    expect(await post('/oauth/device_authorization')).toMatchObject(answer);
    expect(faults).toHaveLength(3);
  });

  it('has no configuration for opencode without models', async () => {
    const { url } = await openRoutes();
    expect((await fetch(`${url}/.well-known/opencode`)).status).toBe(404);
  });
});
