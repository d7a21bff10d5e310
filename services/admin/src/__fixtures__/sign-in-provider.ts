import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { onTestFinished } from 'vitest';

export interface SignInProvider {
  readonly issuer: string;
  /** The groups of each user, by name. Changes apply to later sign-ins. */
  readonly groups: Map<string, readonly string[] | string>;
  /** The number of requests for the discovery document. */
  readonly discoveries: () => number;
  /** The number of requests to exchange a code. */
  readonly exchanges: () => number;
  /** Further claims of each user, by name, besides the subject and the groups. */
  readonly claims: Map<string, Readonly<Record<string, unknown>>>;
  readonly server: Server;
  readonly [Symbol.dispose]: () => void;
}

export const clientId = 'gateway';
export const clientSecret = 'a secret that both know';

/** The same until the end of the test. */
export async function aSignInProvider(...given: Parameters<typeof startSignInProvider>): Promise<SignInProvider> {
  const provider = await startSignInProvider(...given);
  onTestFinished(() => provider[Symbol.dispose]());
  return provider;
}

/** A real OpenID Connect provider on this machine. Any name signs in, with any password. */
export async function startSignInProvider(
  redirectUri: string,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<SignInProvider> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // Cookies ignore ports: another host name keeps the provider's cookies separate.
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const groups = new Map<string, readonly string[] | string>();
  const claims = new Map<string, Readonly<Record<string, unknown>>>();
  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    cookies: { keys: ['for tests'] },
    scopes: ['openid', 'profile', 'groups', 'email'],
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      groups: ['groups'],
      email: ['email', 'email_verified'],
    },
    ttl: { AccessToken: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
    pkce: { required: () => true },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({
        sub: accountId,
        preferred_username: accountId,
        groups: groups.get(accountId),
        ...claims.get(accountId),
      }),
    }),
    ...changes,
  });
  const answer = provider.callback();
  let [discoveries, exchanges] = [0, 0];
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/.well-known/openid-configuration')) discoveries++;
    if (request.url?.startsWith('/token')) exchanges++;
    return answer(request, response);
  });
  return {
    ...{ issuer, groups, claims, server },
    discoveries: () => discoveries,
    exchanges: () => exchanges,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
