import { unreachable } from './contract-accounts.ts';
import { bothKinds, type ContractCase, providerWords } from './contract-case.ts';
import { endpoints, post } from './endpoints.ts';
import { postCases } from './post-cases.ts';
import type { Scene } from './scene.ts';

const { responses } = endpoints;
const here = { route: `POST ${responses.path}`, way: '', tokens: bothKinds } as const;

const ask = ({ token }: Scene, model: string, more: object = {}, text = 'hello') =>
  post(responses, token, { ...responses.body(model, text), ...more });

const streams: readonly ContractCase[] = [
  { ...here, cell: 'stream', prepare: (scene) => ask(scene, 'gpt-5.5-mini') },
  {
    ...here,
    cell: 'stream',
    way: 'though the request says not to stream',
    prepare: (scene) => ask(scene, 'gpt-5.5-mini', { stream: false, store: true, max_output_tokens: 50 }),
  },
  {
    ...here,
    cell: 'stream',
    way: 'of another account when the first is limited',
    prepare: (scene) => ask(scene, scene.limitedAccountWithSpares(responses).model),
  },
  ...([{ kind: 'failed', afterEvents: 8 } as const, { kind: 'reset', afterEvents: 8 } as const] as const).map(
    (fault): ContractCase => ({
      ...here,
      cell: 'stream that breaks off',
      way: fault.kind,
      prepare: (scene) => {
        const account = scene.faultyAccount(responses, fault);
        scene.slowStreams(account.credential);
        return ask(scene, account.model, {}, '#long 100');
      },
    }),
  ),
];

const refusals: readonly ContractCase[] = [
  {
    ...here,
    cell: 'invalid_request',
    way: 'input is a text',
    prepare: (scene) => ask(scene, 'gpt-5.5-mini', { input: 'hello' }),
  },
  {
    ...here,
    cell: 'model_not_found',
    way: 'a class that chat completions has',
    prepare: (scene) => ask(scene, 'gateway/snel'),
  },
  {
    ...here,
    cell: 'model_not_found',
    way: 'a Claude-style model',
    prepare: (scene) => ask(scene, 'claude-sonnet-5'),
  },
  {
    ...here,
    cell: 'providers_unavailable',
    prepare: (scene) => ask(scene, unreachable.responses.model),
  },
];

const providerErrors: readonly ContractCase[] = ([400, 404, 500, 529] as const).map((status) => {
  const body = { error: { message: providerWords, type: 'some_error', param: null, code: null } };
  return {
    ...here,
    cell: `provider's ${status}`,
    unchanged: JSON.stringify(body),
    prepare: (scene) => ask(scene, scene.faultyAccount(responses, { kind: 'status', status, body }).model),
  };
});

/** `POST /v1/responses`. */
export const responsesCases: readonly ContractCase[] = [
  ...streams,
  ...refusals,
  ...providerErrors,
  ...postCases(responses),
];
