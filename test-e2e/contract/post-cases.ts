import { gzipSync } from 'node:zlib';
import type { CellName } from './cells.ts';
import { bothKinds, type ContractCase } from './contract-case.ts';
import { authHeaders, endpoints, type PostEndpoint, post } from './endpoints.ts';
import { send } from './send.ts';

/** Refusals that are the same on every endpoint with a body. */
export function postCases(endpoint: PostEndpoint): readonly ContractCase[] {
  return [
    ...bodyCases(endpoint),
    ...credentialCases(endpoint),
    ...encodingCases(endpoint),
    ...limitCases(endpoint),
    ...exhaustedCases(endpoint),
  ];
}

const atRoute = ({ path }: PostEndpoint) => ({ route: `POST ${path}`, way: '', tokens: bothKinds }) as const;

function bodyCases(endpoint: PostEndpoint): readonly ContractCase[] {
  const good = endpoint.body(endpoint.model, 'hello');
  const withBody = (cell: CellName, way: string, body: string | object): ContractCase => ({
    ...atRoute(endpoint),
    cell,
    way,
    prepare: ({ token }) => post(endpoint, token, body),
  });
  return [
    withBody('invalid_request', 'no object', '[]'),
    withBody('invalid_request', 'no model', { ...good, model: undefined }),
    withBody('invalid_request', 'a model that is no text', { ...good, model: 7 }),
    withBody('invalid_json', 'cut off', '{"model":'),
    withBody('invalid_json', 'empty', ''),
    withBody('model_not_found', 'a class', endpoint.body('gateway/none', 'hello')),
    withBody('model_not_found', 'a direct model', endpoint.body('no-such-model', 'hello')),
  ];
}

/** Unknown tokens, sent in the endpoint's own header. */
function credentialCases(endpoint: PostEndpoint): readonly ContractCase[] {
  const body = JSON.stringify(endpoint.body(endpoint.model, 'hello'));
  return wrongCredentials(endpoint.authHeader).map(({ way, headers }) => ({
    ...atRoute(endpoint),
    cell: 'unauthorized',
    way,
    prepare: () => ({ method: 'POST', path: endpoint.path, headers, body }),
  }));
}

/** Texts that are no token of this gateway. */
export function wrongCredentials(header: PostEndpoint['authHeader']) {
  return [
    { way: 'no token', headers: {} },
    { way: 'a malformed token', headers: authHeaders(header, 'nonsense') },
    { way: 'an unknown token', headers: authHeaders(header, `gw_s_${'0'.repeat(36)}`) },
  ];
}

function encodingCases(endpoint: PostEndpoint): readonly ContractCase[] {
  const good = JSON.stringify(endpoint.body(endpoint.model, 'hello'));
  const encoded = (cell: CellName, encoding: string, body: () => string | Uint8Array<ArrayBuffer>): ContractCase => ({
    ...atRoute(endpoint),
    cell,
    way: encoding,
    prepare: ({ token }) => {
      const request = post(endpoint, token, body());
      return { ...request, headers: { ...request.headers, 'content-encoding': encoding } };
    },
  });
  const tooLarge = () => Buffer.alloc(endpoint.limitMiB * 1024 * 1024 + 1, ' ');
  const unsupported = encoded('unsupported_encoding', 'compress', () => good);
  if (!endpoint.takesCompression) {
    return [
      unsupported,
      encoded('unsupported_encoding', 'gzip', () => gzipSync(good)),
      encoded('body_too_large', 'identity', tooLarge),
    ];
  }
  return [
    unsupported,
    encoded('invalid_body', 'gzip', () => good),
    encoded('body_too_large', 'gzip', () => gzipSync(tooLarge(), { level: 1 })),
  ];
}

/** Both limits; the tokens per day only if they are requested. */
function limitCases(endpoint: PostEndpoint): readonly ContractCase[] {
  const service = { ...atRoute(endpoint), tokens: ['service'] } as const;
  const perMinute: ContractCase = {
    ...service,
    cell: 'rate_limit_exceeded, requests_per_minute',
    prepare: async (scene) => {
      const token = await scene.tokenWith({ requestsPerMinute: 1, tokensPerDay: 1_000_000 });
      const request = post(endpoint, token, '{}');
      await send(scene.gateway, request);
      return request;
    },
  };
  const perDay: ContractCase = {
    ...service,
    cell: 'rate_limit_exceeded, tokens_per_day',
    prepare: async (scene) => {
      const token = await scene.tokenWith({ requestsPerMinute: 100, tokensPerDay: 1 });
      await send(scene.gateway, post(endpoints.chat, token, endpoints.chat.body('gateway/snel', 'hello')));
      return post(endpoint, token, endpoint.body(endpoint.model, 'hello'));
    },
  };
  return endpoint === endpoints.countTokens ? [perMinute] : [perMinute, perDay];
}

function exhaustedCases(endpoint: PostEndpoint): readonly ContractCase[] {
  return [
    {
      ...atRoute(endpoint),
      cell: 'pool_exhausted, reset known',
      prepare: (scene) => {
        const limited = { preset: 'rate_limited_retry_after', resetAfterSeconds: 300 } as const;
        const account = scene.faultyAccount(endpoint, limited);
        return post(endpoint, scene.token, endpoint.body(account[endpoint.addresses], 'hello'));
      },
    },
    {
      ...atRoute(endpoint),
      cell: 'pool_exhausted, reset unknown',
      prepare: async (scene) => {
        const account = await scene.crowd(endpoint);
        return post(endpoint, scene.token, endpoint.body(account[endpoint.addresses], 'hello'));
      },
    },
  ];
}
