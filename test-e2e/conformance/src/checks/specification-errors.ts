import { gzipSync } from 'node:zlib';
import { unknownModel } from '../double/refusals.ts';
import { Found } from '../formats/found.ts';
import { messagesErrorTypeOf } from '../formats/messages-error-types.ts';
import { type Endpoint, isMessages, type PostEndpoint, postEndpoints } from '../target/endpoints.ts';
import type { Answer, Ask } from '../target/gateway-client.ts';
import { mustHaveStatus } from './errors.ts';
import { goodBody } from './good-requests.ts';
import { type Promised, specifies } from './rules.ts';

type Body = Readonly<Record<string, unknown>>;

interface Refusal {
  readonly name: string;
  readonly what: string;
  readonly status: number;
  /** On the Messages endpoints the error has the type of the status instead. */
  readonly code: string;
  /** @param good a request that the endpoint accepts. */
  ask(good: Body): Ask;
}

const noToken = { name: 'no-token', what: 'A request without a token', status: 401, code: 'unauthorized' };
const wrongMethod = { name: 'wrong-method', what: 'A wrong method', status: 405, code: 'method_not_allowed' };
const invalid = (name: string, what: string) => ({ name, what, status: 400, code: 'invalid_request' });

const mebibyte = 1_024 * 1_024;
const sizesMiB: Readonly<Record<PostEndpoint, number>> = { chat: 16, messages: 16, 'count-tokens': 16, responses: 64 };

/** Requests that the gateway itself refuses, with the status and code of its table. */
export const specificationErrors = specifies([
  {
    name: 'spec-unknown-path',
    section: 'Endpoints in general',
    says: 'An unknown path is 404 `not_found`.',
    async run({ gateway }) {
      mustHaveCode(await gateway.ask('models', { path: '/v1/conformance-no-such-path' }), 404, 'not_found');
    },
  },
  ...(['models', 'usage'] as const).flatMap((endpoint) =>
    refusals(endpoint, [
      { ...wrongMethod, ask: () => ({ method: 'DELETE' }) },
      { ...noToken, ask: () => ({ as: 'none' }) },
    ]),
  ),
  ...postEndpoints.flatMap((endpoint) => refusals(endpoint, refusalsOfPosts(endpoint))),
  ...refusals('chat', [
    { ...invalid('several-choices', '`n` above 1'), ask: (good) => ({ body: { ...good, n: 2 } }) },
    {
      ...invalid('unknown-effort', 'An unknown `reasoning_effort`'),
      ask: (good) => ({ body: { ...good, reasoning_effort: 'conformance' } }),
    },
    {
      name: 'file-part',
      what: 'A content part that is neither text nor image',
      status: 400,
      code: 'unsupported_content',
      ask: ({ model }) => ({
        body: { model, messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
      }),
    },
  ]),
  ...refusals('responses', [
    {
      ...invalid('text-as-input', 'An `input` that is a string'),
      ask: ({ model }) => ({ body: { model, input: 'Hello.' } }),
    },
  ]),
]);

function refusalsOfPosts(endpoint: PostEndpoint): readonly Refusal[] {
  const encoded = (encoding: string) => (good: Body) => ({
    body: encoding === 'gzip' ? gzipSync(JSON.stringify(good)) : JSON.stringify(good),
    headers: { 'content-encoding': encoding },
  });
  return [
    { ...noToken, ask: (body) => ({ body, as: 'none' }) },
    { ...wrongMethod, ask: () => ({ method: 'GET' }) },
    {
      name: 'unknown-model',
      what: 'An unknown model',
      status: 404,
      code: 'model_not_found',
      ask: (good) => ({ body: { ...good, model: unknownModel } }),
    },
    {
      name: 'bad-json',
      what: 'A body that is not JSON',
      status: 400,
      code: 'invalid_json',
      ask: () => ({ body: '{' }),
    },
    { ...invalid('no-model', 'A request without `model`'), ask: (good) => ({ body: { ...good, model: undefined } }) },
    {
      name: 'unknown-encoding',
      what: isMessages(endpoint) ? 'A compressed body' : 'A body in an unknown encoding',
      status: 415,
      code: 'unsupported_encoding',
      ask: encoded(isMessages(endpoint) ? 'gzip' : 'compress'),
    },
    {
      name: 'large-body',
      what: `A body above ${sizesMiB[endpoint]} MiB`,
      status: 413,
      code: 'body_too_large',
      ask: (good) => ({ body: { ...good, padding: 'x'.repeat(sizesMiB[endpoint] * mebibyte) } }),
    },
  ];
}

function refusals(endpoint: Endpoint, all: readonly Refusal[]): readonly Promised[] {
  const isOfMessages = isMessages(endpoint);
  return all.map(({ name, what, status, code, ask }) => ({
    name: `spec-${endpoint}-${name}`,
    rule: `${what} is rejected with ${status} and \`${isOfMessages ? messagesErrorTypeOf(status) : code}\`.`,
    section: 'Errors',
    says: isOfMessages
      ? 'The two shapes, and the Messages type for each status.'
      : 'Every code of the table, on every route that can give it, and no other.',
    async run(scene) {
      const good = endpoint === 'models' || endpoint === 'usage' ? {} : goodBody(scene, endpoint);
      const answer = await scene.gateway.ask(endpoint, ask(good));
      if (isOfMessages) mustHaveType(answer, status);
      else mustHaveCode(answer, status, code);
    },
  }));
}

/** `{error: {code, message}}`, which may have more members beside the code. */
export function mustHaveCode(answer: Answer, status: number, code: string): void {
  mustHaveStatus(answer, status);
  const error = new Found(answer.json(), 'the answer').at('error');
  error.at('code').is(code);
  void error.at('message').name;
}

export function mustHaveType(answer: Answer, status: number): void {
  mustHaveStatus(answer, status);
  const body = new Found(answer.json(), 'the answer');
  body.at('type').is('error');
  body.at('error', 'type').is(messagesErrorTypeOf(status));
  void body.at('error', 'message').name;
}
