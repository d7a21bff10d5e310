import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTimer } from '@gateway/time';
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
  /** Users whom the provider no longer knows. */
  readonly removed: Set<string>;
  /** While true, the provider answers nothing. */
  isAway: boolean;
  /** While true, the token endpoint does what it is asked, and its answers are lost. */
  losesAnswers: boolean;
  /** How long each answer of the token endpoint takes. */
  delayMs: number;
  /** The number of requests to use a refresh token. */
  readonly refreshes: () => number;
  readonly server: Server;
  readonly [Symbol.dispose]: () => void;
}

export interface ProviderChanges extends Readonly<Record<string, unknown>> {
  /** The gateway's client has no secret. */
  readonly isPublic?: boolean;
}

export const clientId = 'gateway';
export const clientSecret = 'a secret that both know';

/** The same until the end of the test. */
export async function aSignInProvider(...given: Parameters<typeof startSignInProvider>): Promise<SignInProvider> {
  const provider = await startSignInProvider(...given);
  onTestFinished(() => provider[Symbol.dispose]());
  return provider;
}

/**
 * A real OpenID Connect provider on this machine, as strict as its makers ship it: no refresh token
 * without consent. Any name signs in, with any password. A public client gets each refresh token
 * once.
 */
export async function startSignInProvider(
  redirectUri: string,
  { isPublic = false, ...changes }: ProviderChanges = {},
): Promise<SignInProvider> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // Cookies ignore ports: another host name keeps the provider's cookies separate.
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const groups = new Map<string, readonly string[] | string>();
  const claims = new Map<string, Readonly<Record<string, unknown>>>();
  const removed = new Set<string>();
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: clientId, redirect_uris: [redirectUri] },
        ...(isPublic ? { token_endpoint_auth_method: 'none' } : { client_secret: clientSecret }),
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    cookies: { keys: ['for tests'] },
    scopes: ['openid', 'profile', 'groups', 'email', 'offline_access'],
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      groups: ['groups'],
      email: ['email', 'email_verified'],
    },
    ttl: { AccessToken: 60, IdToken: 60, Interaction: 60, Session: 3_600, Grant: 3_600, RefreshToken: 3_600 },
    pkce: { required: () => true },
    findAccount: (_context: unknown, accountId: string) =>
      removed.has(accountId)
        ? undefined
        : {
            accountId,
            claims: async () => ({
              sub: accountId,
              preferred_username: accountId,
              groups: groups.get(accountId),
              ...claims.get(accountId),
            }),
          },
    ...changes,
  });
  const answer = provider.callback();
  let [discoveries, exchanges, refreshes] = [0, 0, 0];
  provider.on('grant.success', ({ oidc }) => {
    if (oidc.params?.grant_type === 'refresh_token') refreshes++;
  });
  server.on('request', (request, response) => {
    if (started.isAway) return request.socket.destroy();
    if (request.url?.startsWith('/.well-known/openid-configuration')) discoveries++;
    if (request.url?.startsWith('/token')) {
      exchanges++;
      const end = response.end;
      Object.assign(response, {
        end(...given: readonly unknown[]) {
          if (started.losesAnswers) request.socket.destroy();
          else startTimer(() => Reflect.apply(end, response, given), started.delayMs);
          return response;
        },
      });
    }
    return answer(request, response);
  });
  const started: SignInProvider = {
    ...{ issuer, groups, claims, removed, server, isAway: false, losesAnswers: false, delayMs: 0 },
    discoveries: () => discoveries,
    exchanges: () => exchanges,
    refreshes: () => refreshes,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return started;
}
