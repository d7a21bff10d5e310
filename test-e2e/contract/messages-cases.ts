import { breakingMessagesAccounts, breakingMessagesClass, unreachable } from './contract-accounts.ts';
import { bothKinds, type ContractCase, providerWords } from './contract-case.ts';
import { endpoints, type PostEndpoint, post } from './endpoints.ts';
import { postCases } from './post-cases.ts';
import type { Scene } from './scene.ts';

const { messages, countTokens } = endpoints;
const here = { route: `POST ${messages.path}`, way: '', tokens: bothKinds } as const;

const ask = ({ token }: Scene, model: string, more: object = {}, text = 'hello') =>
  post(messages, token, { ...messages.body(model, text), ...more });

/** `POST /v1/messages`. */
export const messagesCases: readonly ContractCase[] = [
  { ...here, cell: 'answer', way: 'of a class', prepare: (scene) => ask(scene, 'gateway/claude') },
  { ...here, cell: 'answer', way: 'of a direct model', prepare: (scene) => ask(scene, 'claude-opus-4-8') },
  {
    ...here,
    cell: 'answer',
    way: 'with a Bearer token',
    prepare: (scene) => ({ ...ask(scene, 'gateway/claude'), headers: { authorization: `Bearer ${scene.token}` } }),
  },
  { ...here, cell: 'stream', prepare: (scene) => ask(scene, 'gateway/claude', { stream: true }) },
  {
    ...here,
    cell: 'stream',
    way: 'of another account when the first is limited',
    prepare: (scene) => ask(scene, scene.limitedAccountWithSpares(messages).classId, { stream: true }),
  },
  ...([{ kind: 'error_event', afterEvents: 5 } as const, { kind: 'reset', afterEvents: 5 } as const] as const).map(
    (fault): ContractCase => ({
      ...here,
      cell: 'stream that breaks off',
      way: fault.kind,
      prepare: (scene) => {
        for (const account of breakingMessagesAccounts) {
          scene.fault({ account, fault });
          scene.slowStreams(account);
        }
        return ask(scene, breakingMessagesClass, { stream: true }, '#long 100');
      },
    }),
  ),
  {
    ...here,
    cell: 'invalid_request',
    way: 'no max_tokens',
    prepare: (scene) => ask(scene, 'gateway/claude', { max_tokens: undefined }),
  },
  {
    ...here,
    cell: 'invalid_request',
    way: 'stream is a text',
    prepare: (scene) => ask(scene, 'gateway/claude', { stream: 'yes' }),
  },
  ...sharedCases(messages),
];

/** `POST /v1/messages/count_tokens`. */
export const countTokensCases: readonly ContractCase[] = [
  {
    route: `POST ${countTokens.path}`,
    cell: 'answer',
    way: '',
    tokens: bothKinds,
    prepare: ({ token }) => post(countTokens, token, countTokens.body('gateway/claude', 'hello')),
  },
  ...sharedCases(countTokens),
];

function sharedCases(endpoint: PostEndpoint): readonly ContractCase[] {
  const route = { route: `POST ${endpoint.path}`, way: '', tokens: bothKinds } as const;
  const askHere = (scene: Scene, model: string) => post(endpoint, scene.token, endpoint.body(model, 'hello'));
  return [
    ...postCases(endpoint),
    {
      ...route,
      cell: 'invalid_request',
      way: 'messages is a text',
      prepare: ({ token }) => post(endpoint, token, { ...endpoint.body('gateway/claude', ''), messages: 'hello' }),
    },
    {
      ...route,
      cell: 'model_not_found',
      way: 'a class without a Claude-style candidate',
      prepare: (scene) => askHere(scene, 'gateway/rotating'),
    },
    {
      ...route,
      cell: 'model_not_found',
      way: 'a GPT-style model',
      prepare: (scene) => askHere(scene, 'gpt-5.5'),
    },
    {
      ...route,
      cell: 'subscription_unavailable',
      prepare: (scene) => askHere(scene, unreachable.messages.classId),
    },
    ...([400, 404, 500, 529] as const).map(
      (status): ContractCase => ({
        ...route,
        cell: `provider's ${status}`,
        prepare: (scene) => {
          const body = { type: 'error', error: { type: providerTypes[status], message: providerWords } };
          return askHere(scene, scene.faultyAccount(endpoint, { kind: 'status', status, body }).classId);
        },
      }),
    ),
  ];
}

const providerTypes = {
  400: 'invalid_request_error',
  404: 'not_found_error',
  500: 'api_error',
  529: 'overloaded_error',
} as const;
