import { unreachable } from './contract-accounts.ts';
import { bothKinds, type ContractCase, providerWords } from './contract-case.ts';
import { endpoints, post } from './endpoints.ts';
import { postCases } from './post-cases.ts';
import type { Scene } from './scene.ts';

const { chat } = endpoints;
const here = { route: `POST ${chat.path}`, way: '', tokens: bothKinds } as const;

const ask = ({ token }: Scene, model: string, more: object = {}, text = 'hello') =>
  post(chat, token, { ...chat.body(model, text), ...more });

const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } };

const answers: readonly ContractCase[] = [
  { ...here, cell: 'answer', way: 'of a GPT-style model', prepare: (scene) => ask(scene, 'gateway/snel') },
  { ...here, cell: 'answer', way: 'of a Claude-style model', prepare: (scene) => ask(scene, 'gateway/claude') },
  {
    ...here,
    cell: 'answer',
    way: 'with tool calls',
    prepare: (scene) => ask(scene, 'gateway/claude', { tools: [weather] }, '#tool weather {}'),
  },
  { ...here, cell: 'stream', way: 'without usage', prepare: (scene) => ask(scene, 'gateway/snel', { stream: true }) },
  {
    ...here,
    cell: 'stream',
    way: 'with usage',
    prepare: (scene) => ask(scene, 'gateway/claude', { stream: true, stream_options: { include_usage: true } }),
  },
  {
    ...here,
    cell: 'stream',
    way: 'with tool calls',
    prepare: (scene) =>
      ask(scene, 'gateway/snel', { stream: true, tools: [weather] }, '#tool weather {} #tool weather {"a":1}'),
  },
  {
    ...here,
    cell: 'stream that breaks off',
    prepare: (scene) => {
      const account = scene.faultyAccount(chat, { kind: 'reset', afterEvents: 8 });
      scene.slowStreams(account.credential);
      return ask(scene, account.classId, { stream: true }, '#long 100');
    },
  },
];

const refusals: readonly ContractCase[] = [
  {
    ...here,
    cell: 'invalid_request',
    way: 'n of 2',
    prepare: (scene) => ask(scene, 'gateway/snel', { n: 2 }),
  },
  {
    ...here,
    cell: 'unsupported_content',
    prepare: (scene) =>
      ask(scene, 'gateway/snel', {
        messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] }],
      }),
  },
  ...([400, 413, 422] as const).map(
    (status): ContractCase => ({
      ...here,
      cell: `upstream_rejected, ${status}`,
      prepare: (scene) => {
        const body = { error: { message: providerWords, type: 'invalid_request_error', param: null, code: null } };
        return ask(scene, scene.faultyAccount(chat, { kind: 'status', status, body }).classId);
      },
    }),
  ),
];

const unavailable: readonly ContractCase[] = [
  ['a class', unreachable.responses.classId],
  ['a direct model', unreachable.responses.model],
  ['a direct model of the Messages pool', unreachable.messages.model],
].map(([way = '', model = '']) => ({
  ...here,
  cell: 'providers_unavailable',
  way,
  prepare: (scene) => ask(scene, model),
}));

/** `POST /v1/chat/completions`. */
export const chatCases: readonly ContractCase[] = [...answers, ...refusals, ...unavailable, ...postCases(chat)];
