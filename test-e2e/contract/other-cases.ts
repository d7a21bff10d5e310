import { bothKinds, type CaseRequest, type ContractCase } from './contract-case.ts';
import { authHeaders, endpoints } from './endpoints.ts';
import { wrongCredentials } from './post-cases.ts';
import { send } from './send.ts';

const get = (path: string, headers: CaseRequest['headers']): CaseRequest => ({ method: 'GET', path, headers });

const listed = ['/v1/models', '/v1/usage'];

const listings = listed.flatMap((path): readonly ContractCase[] => {
  const here = { route: `GET ${path}`, way: '', tokens: bothKinds } as const;
  return [
    { ...here, cell: 'answer', prepare: ({ token }) => get(path, authHeaders('authorization', token)) },
    {
      ...here,
      cell: 'answer',
      way: 'with x-api-key',
      prepare: ({ token }) => get(`${path}?limit=1000`, authHeaders('x-api-key', token)),
    },
    ...wrongCredentials('authorization').map(
      ({ way, headers }): ContractCase => ({
        ...here,
        cell: 'unauthorized',
        way,
        prepare: () => get(path, headers),
      }),
    ),
  ];
});

const limitedListing: ContractCase = {
  route: 'GET /v1/models',
  cell: 'rate_limit_exceeded, requests_per_minute',
  way: '',
  tokens: ['service'],
  prepare: async (scene) => {
    const token = await scene.tokenWith({ requestsPerMinute: 1, tokensPerDay: 1_000_000 });
    const request = get('/v1/models', authHeaders('authorization', token));
    await send(scene.gateway, request);
    return request;
  },
};

const paths: readonly string[] = [...Object.values(endpoints).map(({ path }) => path), ...listed];

/** Before authentication: the same with a token and without. */
const wrongMethods = paths.flatMap((path) => {
  const methods = listed.includes(path) ? ['POST', 'PUT', 'DELETE'] : ['GET', 'PUT', 'DELETE'];
  return methods.flatMap((method) => withAndWithoutToken(`other ${path}`, 'method_not_allowed', method, path));
});

const unknownPaths = ['/', '/v1', '/v1/nothing', '/V1/models', '/v1/models/', '/v1/messages/count_tokens/x'].flatMap(
  (path) => withAndWithoutToken('unknown path', 'not_found', 'GET', path),
);

function withAndWithoutToken(
  route: string,
  cell: 'method_not_allowed' | 'not_found',
  method: string,
  path: string,
): readonly ContractCase[] {
  const here = { route, cell, tokens: ['service'] } as const;
  return [
    { ...here, way: `${method} ${path}`, prepare: () => ({ method, path, headers: {} }) },
    {
      ...here,
      way: `${method} ${path} with a token`,
      prepare: ({ token }) => ({ method, path, headers: authHeaders('authorization', token) }),
    },
  ];
}

/** `GET /v1/models`, `GET /v1/usage`, other methods and unknown paths. */
export const otherCases: readonly ContractCase[] = [...listings, limitedListing, ...wrongMethods, ...unknownPaths];
