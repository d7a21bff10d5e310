import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FixtureFileResponse, type FixtureOpts, LLMock } from '@copilotkit/aimock';
import { type Road, roads } from './failing-accounts.ts';

/** Doubles of both providers that others wrote, and a gateway.yaml with two accounts of each. */
export interface ForeignProviders extends AsyncDisposable {
  readonly responses: LLMock;
  readonly messages: LLMock;
  readonly writeFile: (folder: string) => Promise<string>;
  /** They forget all requests: an error that comes first comes again. */
  readonly startAnew: () => void;
  /** How many requests for a model they have had. */
  readonly requestsFor: (model: string) => number;
}

/** What the foreign providers report for each answer. */
export const foreignUsage = { input_tokens: 1_000, output_tokens: 20 } as const;

/** A text of several pieces and bytes per character. */
export const foreignText = 'Grüße aus 東京 🗼, in more words than fit into one piece.';

export const foreignCall = { id: 'call_foreign', name: 'weather', arguments: '{"city":"Delft"}' } as const;

export const foreignFailures = ['rejecting', 'limited', 'stumbling', 'breaking', 'garbling', 'hanging-up'] as const;
export type ForeignFailure = (typeof foreignFailures)[number];

/** A model with two accounts of its own, since its answers are errors. */
export function failingForeignModel(road: Road, failure: ForeignFailure): string {
  const family = road.endsWith('responses') ? 'gpt' : 'claude';
  return `${family}-${failure}${road.startsWith('chat-') ? '-chat' : ''}`;
}

/** The models of a provider, in the order of its list. */
export function foreignModels(provider: 'responses' | 'messages'): readonly [string, ...string[]] {
  const ownRoads = roads.filter((road) => road.endsWith(provider));
  const failing = ownRoads.flatMap((road) => foreignFailures.map((failure) => failingForeignModel(road, failure)));
  return [provider === 'responses' ? 'gpt-5.5' : 'claude-sonnet-5', ...failing];
}

export async function startForeignProviders(): Promise<ForeignProviders> {
  await using stack = new AsyncDisposableStack();
  const responses = await started(stack, 'responses');
  const messages = await started(stack, 'messages');
  const open = stack.move();
  return {
    responses,
    messages,
    writeFile: (folder) => writeGatewayFile(folder, { responses, messages }),
    requestsFor: (model) =>
      [responses, messages].flatMap((provider) => provider.getRequests()).filter(({ body }) => body?.model === model)
        .length,
    startAnew: () => {
      for (const provider of [responses, messages]) provider.resetMatchCounts().clearRequests();
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function started(stack: AsyncDisposableStack, name: 'responses' | 'messages'): Promise<LLMock> {
  const provider = new LLMock({ port: 0 });
  await provider.start();
  stack.defer(() => provider.stop());
  const [answering, ...failing] = foreignModels(name);
  for (const [userMessage, answer, hasToolResult] of answers) {
    const turn = hasToolResult === undefined ? {} : { hasToolResult };
    provider.on({ model: answering, userMessage, ...turn }, { ...answer, usage: foreignUsage });
  }
  for (const model of failing) {
    for (const [failure, sequenceIndex, answer, options] of failures) {
      const sequence = sequenceIndex === undefined ? {} : { sequenceIndex };
      if (model.includes(failure)) provider.on({ model, ...sequence }, answer, options);
    }
  }
  return provider;
}

type Answer = FixtureFileResponse & object;

/** By a word of the question. */
const answers: readonly (readonly [string, Answer, boolean?])[] = [
  ['greet', { content: foreignText }],
  ['reason', { content: foreignText, reasoning: 'First one thing, then another.' }],
  ['forecast', { content: 'Let me look.', toolCalls: [foreignCall] }, false],
  ['forecast', { content: 'It rains.' }, true],
  ['search', { content: foreignText, webSearches: ['the weather'] }],
  ['too long', { content: foreignText, finishReason: 'length' }],
  ['nothing', { content: '' }],
];

const text: Answer = { content: foreignText, usage: foreignUsage };
const rejection = { error: { message: 'No such tool.', type: 'invalid_request_error', code: 'bad_tool' }, status: 400 };
const limit = { error: { message: 'Slow down.', type: 'rate_limit_error' }, status: 429, retryAfter: 600 };
const fault = { error: { message: 'Out of order.', type: 'server_error' }, status: 500 };
/** Pieces arrive one by one, so that a client has some of them when the answer breaks off. */
const brokenOff: FixtureOpts = { latency: 20, chunkSize: 4, truncateAfterChunks: 12 };

const failures: readonly (readonly [ForeignFailure, number | undefined, Answer, FixtureOpts?])[] = [
  ['rejecting', undefined, rejection],
  ['limited', undefined, limit],
  ['stumbling', 0, fault],
  ['stumbling', undefined, text],
  ['breaking', undefined, text, brokenOff],
  ['garbling', undefined, text, { chaos: { malformedRate: 1 } }],
  ['hanging-up', undefined, text, { chaos: { disconnectRate: 1 } }],
];

async function writeGatewayFile(
  folder: string,
  { responses, messages }: Pick<ForeignProviders, 'responses' | 'messages'>,
): Promise<string> {
  const lines = [
    'pools:',
    `  responses: { format: responses, owned_by: provider_a, base_url: "${responses.url}/v1" }`,
    `  messages: { format: messages, owned_by: provider_b, base_url: "${messages.url}/v1" }`,
    'accounts:',
    ...accountLines('responses', 'bearer'),
    ...accountLines('messages', 'api_key'),
    'classes:',
    '  sterk: { name: Sterk, effort: low, candidates: [responses/gpt-5.5] }',
    '  claude: { name: Claude, effort: low, candidates: [messages/claude-sonnet-5] }',
    'settings: { model_list_refresh_seconds: 1 }',
    '',
  ];
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, lines.join('\n'));
  return path;
}

function accountLines(pool: 'responses' | 'messages', key: string): readonly string[] {
  return foreignModels(pool).flatMap((model) =>
    ['a', 'b'].map((letter) => {
      const credential = `credential: { ${key}: ${model}-${letter} }`;
      return `  - { pool: ${pool}, name: ${model}-${letter}, ${credential}, models: [${model}] }`;
    }),
  );
}
