import { unknownModel, wrongToken } from '../double/refusals.ts';
import { isMessages, type PostEndpoint, postEndpoints } from '../target/endpoints.ts';
import type { Ask } from '../target/gateway-client.ts';
import { mustBeError, mustHaveDocumentedType, mustHaveStatus } from './errors.ts';
import { goodBody } from './good-requests.ts';
import { ofEach, type Rule } from './rules.ts';
import { sources } from './sources.ts';

type Body = Readonly<Record<string, unknown>>;

const required: Readonly<Record<PostEndpoint, readonly string[]>> = {
  chat: ['model', 'messages'],
  messages: ['model', 'messages', 'max_tokens'],
  'count-tokens': ['model', 'messages'],
  // An `input` may be left out for a stored prompt.
  responses: ['model'],
};

const ofWrongType: Readonly<Record<PostEndpoint, Body>> = {
  chat: { model: 7, messages: 'Say hello.', stream: 'yes' },
  messages: { model: 7, messages: 'Say hello.', stream: 'yes', max_tokens: 'ten' },
  'count-tokens': { model: 7, messages: 'Say hello.' },
  responses: { model: 7, input: 7 },
};

interface Refusal {
  readonly name: string;
  readonly rule: string;
  readonly statuses: readonly number[];
  /** Invalid requests, by their fault. */
  asks(good: Body, endpoint: PostEndpoint): Readonly<Record<string, Ask>>;
}

/** Some frameworks answer 422 to an invalid body; the SDKs know it as well. */
const badRequest = [400, 422];

const refusals: readonly Refusal[] = [
  {
    name: 'refuses-unreadable-bodies',
    rule: 'A body that is empty, not JSON, or not a JSON object is rejected with 400',
    statuses: badRequest,
    asks: (good) => ({
      'an empty body': { body: '' },
      'broken JSON': { body: JSON.stringify(good).slice(0, -3) },
      'a list': { body: JSON.stringify([good]) },
    }),
  },
  {
    name: 'refuses-missing-fields',
    rule: 'A request without a required field is rejected with 400',
    statuses: badRequest,
    asks: (good, endpoint) =>
      Object.fromEntries(required[endpoint].map((field) => [`no ${field}`, { body: without(field, good) }])),
  },
  {
    name: 'refuses-fields-of-wrong-type',
    rule: 'A request with a field of the wrong type is rejected with 400',
    statuses: badRequest,
    asks: (good, endpoint) =>
      Object.fromEntries(
        Object.entries(ofWrongType[endpoint]).map(([field, value]) => [
          `${field} ${JSON.stringify(value)}`,
          { body: { ...good, [field]: value } },
        ]),
      ),
  },
  {
    name: 'refuses-unknown-model',
    rule: 'An unknown model is rejected with 404 or 400',
    statuses: [404, 400],
    asks: (good) => ({ 'an unknown model': { body: { ...good, model: unknownModel } } }),
  },
  {
    name: 'refuses-bad-credentials',
    rule: 'A request without credentials, or with an unknown token, is rejected with 401 or 403',
    statuses: [401, 403],
    asks: (body) => ({
      'no credentials': { body, as: 'none' },
      'a wrong token': { body, as: 'none', headers: { authorization: `Bearer ${wrongToken}` } },
    }),
  },
];

/** An invalid request is refused with the status and the error that SDKs read. */
export const httpRefusals: readonly Rule[] = [
  ...postEndpoints.flatMap((endpoint) => [
    ...refusals.map((refusal) => refusalRule(endpoint, refusal)),
    wrongMethodRule(endpoint),
  ]),
  {
    name: 'http-refuses-unknown-path',
    rule: 'An unknown path gets 404.',
    source: sources.notFound,
    async run({ gateway }) {
      mustHaveStatus(await gateway.ask('chat', { path: '/v1/conformance-no-such-path', body: {} }), 404);
    },
  },
];

function refusalRule(endpoint: PostEndpoint, { name, rule, statuses, asks }: Refusal): Rule {
  return {
    name: `${endpoint}-${name}`,
    rule: `${rule}, with the error object of the format.`,
    source: sources.errors[isMessages(endpoint) ? 'messages' : 'chat'],
    run: (scene) =>
      ofEach(asks(goodBody(scene, endpoint), endpoint), async (ask) => {
        const answer = await scene.gateway.ask(endpoint, ask);
        mustBeError(endpoint, answer, statuses);
        if (isMessages(endpoint)) mustHaveDocumentedType(answer);
      }),
  };
}

function wrongMethodRule(endpoint: PostEndpoint): Rule {
  return {
    name: `${endpoint}-refuses-wrong-method`,
    rule: 'PUT is rejected with 405 or 404.',
    source: sources.methods,
    async run({ gateway }) {
      mustHaveStatus(await gateway.ask(endpoint, { method: 'PUT', body: {} }), 405, 404);
    },
  };
}

function without(field: string, body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
}
