import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClient, type Handlers, serviceRoute } from '@gateway/rpc';
import { describe, expect, it, onTestFinished } from 'vitest';
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
  const routes = signInRoutes({
    config: readEdgeRouterConfig({ PORT: '0', SIGN_IN_PAGE_URL: 'https://admin.example/device', ...env }),
    signIn: directClient(serviceRoute(SignInService, { ...identity, ...answers })),
    tokens: { resolve: async () => undefined },
    managed: new ManagedClients(),
    onFault: (fault) => faults.push(fault),
  });
  const server = createServer(async (request, response) => {
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
