import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkOf, type TrustedProxies } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { GrantProblem, type SessionTokens, type SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Client } from '@gateway/rpc';
import { cacheTime } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { authenticate, type TokenCache } from '../authentication/authenticate.ts';
import { LookupSlots } from '../authentication/lookup-slots.ts';
import type { EdgeRequest } from '../body/read-body.ts';
import type { EdgeRouterConfig } from '../config.ts';
import { HttpFault } from '../errors/render-error.ts';
import { sendJson } from '../http/respond.ts';
import type { ManagedClients } from './managed-settings.ts';
import { readForm } from './read-form.ts';

export interface SignInPeers {
  readonly config: EdgeRouterConfig;
  readonly signIn: Client<typeof SignInService>;
  readonly tokens: Pick<TokenCache, 'resolve'>;
  readonly proxies: TrustedProxies;
  readonly managed: Pick<ManagedClients, 'policyFor'>;
  readonly onFault: (fault: unknown) => void;
}

/** Sign-in from clients: what path and method alone determine. */
export interface SignInRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly answer: (request: EdgeRequest, response: ServerResponse) => Promise<void>;
}

/**
 * The endpoints at which a client signs a person in: the device grant of OAuth 2.0, with refresh
 * and revocation. They exist only if the console's page for people is known.
 * @see https://www.rfc-editor.org/rfc/rfc8628
 */
export function signInRoutes({
  config,
  signIn,
  tokens,
  proxies,
  managed,
  onFault,
}: SignInPeers): readonly SignInRoute[] {
  const { signInPageUrl: pageUrl, publicUrl, opencodeModels, admissionPatienceMs: timeoutMs, uploadPace } = config;
  if (pageUrl === undefined) return [];
  const begun = new LRUCache<string, number>({ max: 10_000, ttl: 60_000, noUpdateTTL: true, ...cacheTime });
  const polls = new LRUCache<string, number>({ max: 10_000, ttl: pollMs, noUpdateTTL: true, ...cacheTime });
  const slots = new LookupSlots({ waitMs: timeoutMs });
  const senderOf = ({ headers, socket }: IncomingMessage) => {
    const address = proxies.clientAddress(socket.remoteAddress, headers['x-forwarded-for']);
    return { client: headers['user-agent'] ?? '', address };
  };
  const form = (request: EdgeRequest) => readForm(request, uploadPace);
  /** The identity service is away: the client keeps its tokens, and tries again. */
  const unlessAway = async (response: ServerResponse, answer: () => Promise<void>) => {
    try {
      await answer();
    } catch (thrown) {
      if (thrown instanceof HttpFault) throw thrown;
      onFault(thrown);
      response.setHeader('retry-after', '5');
      refuse(response, 503, 'temporarily_unavailable', 'Sign-in is not available at the moment. Try again.');
    }
  };

  return [
    {
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      async answer(request, response) {
        const issuer = publicUrl ?? originOf(request);
        sendPrivately(response, 200, {
          issuer,
          device_authorization_endpoint: `${issuer}${paths.begin}`,
          token_endpoint: `${issuer}${paths.token}`,
          revocation_endpoint: `${issuer}${paths.revoke}`,
          grant_types_supported: [deviceGrant, 'refresh_token'],
          token_endpoint_auth_methods_supported: ['none'],
          revocation_endpoint_auth_methods_supported: ['none'],
        });
      },
    },
    {
      method: 'POST',
      path: paths.begin,
      answer: (request, response) =>
        unlessAway(response, async () => {
          const given = await form(request);
          const from = senderOf(request);
          const network = networkOf(from.address);
          const count = begun.get(network) ?? 0;
          if (count >= mostPerMinute) {
            response.setHeader('retry-after', '60');
            return refuse(response, 429, 'slow_down', 'Too many sign-ins from this address. Try again in a minute.');
          }
          begun.set(network, count + 1);
          const surface = given.get('surface') ?? '';
          const grant = await signIn.beginDeviceGrant({ ...from, surface }, { timeoutMs });
          const complete = new URL(pageUrl);
          complete.searchParams.set('user_code', grant.userCode);
          sendPrivately(response, 200, {
            device_code: grant.deviceCode,
            user_code: grant.userCode,
            verification_uri: pageUrl,
            verification_uri_complete: complete.href,
            expires_in: grant.expiresInSeconds,
            interval: grant.intervalSeconds,
          });
        }),
    },
    {
      method: 'POST',
      path: paths.token,
      answer: (request, response) =>
        unlessAway(response, async () => {
          const given = await form(request);
          const from = senderOf(request);
          const network = networkOf(from.address);
          if (given.get('grant_type') === deviceGrant) {
            const deviceCode = given.get('device_code') ?? '';
            const poll = hash('sha256', deviceCode);
            const count = polls.get(poll) ?? 0;
            if (count >= mostPolls) return refuse(response, 429, 'slow_down', grantTexts.slow_down);
            polls.set(poll, count + 1);
            const { result } = await slots.run(network, () =>
              signIn.redeemDeviceCode({ ...from, deviceCode }, { timeoutMs }),
            );
            if (result.case === 'tokens') {
              // A grant that led to a sign-in does not count: many people may share an address.
              begun.set(network, Math.max(0, (begun.get(network) ?? 0) - 1));
              polls.delete(poll);
              return sendTokens(response, result.value);
            }
            const [status, code] = grantErrors[result.value ?? GrantProblem.UNSPECIFIED];
            return refuse(response, status, code, grantTexts[code]);
          }
          if (given.get('grant_type') !== 'refresh_token') {
            const text = `grant_type must be refresh_token or ${deviceGrant}.`;
            return refuse(response, 400, 'unsupported_grant_type', text);
          }
          const refreshToken = given.get('refresh_token') ?? '';
          const { tokens: rotated } = await slots.run(network, () =>
            signIn.refreshSession({ ...from, refreshToken }, { timeoutMs }),
          );
          if (rotated !== undefined) return sendTokens(response, rotated);
          refuse(response, 400, 'invalid_grant', 'The session has ended. Sign in again.');
        }),
    },
    {
      method: 'POST',
      path: paths.revoke,
      answer: (request, response) =>
        unlessAway(response, async () => {
          const token = (await form(request)).get('token') ?? '';
          await slots.run(networkOf(senderOf(request).address), () => signIn.endSession({ token }, { timeoutMs }));
          // An unknown token is an answer like any other. @see RFC 7009, section 2.2
          sendPrivately(response, 200, {});
        }),
    },
    ...(opencodeModels.length === 0
      ? []
      : [
          {
            method: 'GET',
            path: '/.well-known/opencode',
            async answer(request, response) {
              sendPrivately(response, 200, opencodeDocument(publicUrl ?? originOf(request), opencodeModels));
            },
          } satisfies SignInRoute,
        ]),
    {
      method: 'GET',
      path: '/managed/settings',
      async answer(request, response) {
        const token = await authenticate(request, 'authorization', { tokens, proxies }).catch((thrown) => {
          // Clients do not start after any other status than 200, 401 and 404.
          if (thrown instanceof GatewayError && thrown.code === 'unauthorized') throw thrown;
          onFault(thrown);
        });
        const policy = token && managed.policyFor(token.group?.name ?? '');
        if (policy === undefined) throw new GatewayError('not_found', 'There are no managed settings.');
        const { checksum, settings } = policy;
        const tag = `"${checksum}"`;
        response.setHeader('etag', tag);
        if (request.headers['if-none-match'] === tag) return void response.writeHead(304).end();
        sendPrivately(response, 200, { uuid: checksum, checksum, settings });
      },
    },
  ];
}

const paths = {
  begin: '/oauth/device_authorization',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
} as const;

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/**
 * Most grants without a sign-in that one network may begin in a minute. It may be that of a proxy
 * for many people.
 */
const mostPerMinute = 120;

/**
 * A client that polls more often than this learns to slow down, and identity is not asked: the
 * interval is five seconds, and networks are uneven.
 */
const mostPolls = 2;
const pollMs = 4_000;

/** @see https://www.rfc-editor.org/rfc/rfc8628#section-3.5 */
const grantErrors = {
  [GrantProblem.UNSPECIFIED]: [400, 'expired_token'],
  [GrantProblem.AUTHORIZATION_PENDING]: [400, 'authorization_pending'],
  [GrantProblem.SLOW_DOWN]: [429, 'slow_down'],
  [GrantProblem.ACCESS_DENIED]: [400, 'access_denied'],
  [GrantProblem.EXPIRED_TOKEN]: [400, 'expired_token'],
} as const satisfies Record<GrantProblem, readonly [number, string]>;

const grantTexts = {
  authorization_pending: 'The sign-in has not been approved yet.',
  slow_down: 'Poll less often.',
  access_denied: 'The sign-in was denied.',
  expired_token: 'The sign-in expired, or was used already. Start again.',
} as const;

/** The configuration that `opencode auth login <gateway>` reads, and again at each start. */
function opencodeDocument(origin: string, models: readonly string[]) {
  const provider = {
    name: 'Gateway',
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${origin}/v1`, apiKey: '{env:GATEWAY_TOKEN}' },
    models: Object.fromEntries(models.map((model) => [model, { name: model }])),
  };
  return {
    auth: { command: ['gatewayctl', 'token', 'print'], env: 'GATEWAY_TOKEN' },
    config: { provider: { gateway: provider } },
  };
}

function sendTokens(response: ServerResponse, tokens: SessionTokens): void {
  const { accessToken, refreshToken, expiresInSeconds, email } = tokens;
  sendPrivately(response, 200, {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    refresh_token: refreshToken,
    ...(email !== '' && { email }),
  });
}

function refuse(response: ServerResponse, status: number, error: string, description: string): void {
  sendPrivately(response, status, { error, error_description: description });
}

/** No cache may keep any of these answers. */
function sendPrivately(response: ServerResponse, status: number, value: unknown): void {
  response.setHeader('cache-control', 'no-store');
  sendJson(response, status, value);
}

/**
 * The gateway's address as the client used it. Only this client gets it back, so that a wrong one
 * harms no one else.
 */
function originOf({ headers, socket }: IncomingMessage): string {
  const isTls = 'encrypted' in socket || headers['x-forwarded-proto'] === 'https';
  const url = URL.parse(`${isTls ? 'https' : 'http'}://${headers.host ?? ''}`);
  if (url === null || url.host !== headers.host?.toLowerCase())
    throw new HttpFault(400, 'The header host is not valid.');
  return url.origin;
}
