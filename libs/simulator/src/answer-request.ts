import { setTimeout } from 'node:timers/promises';
import type { Conversation } from './answer/conversation.ts';
import { planAnswer } from './answer/plan-answer.ts';
import { type InputUsage, type PromptCache, sumTokens } from './answer/prompt-cache.ts';
import type { Exchange } from './exchange.ts';
import type { MatchedFaults } from './faults/fault-book.ts';
import type { JsonObject } from './json-value.ts';
import type { Answer, ProviderEvent } from './provider-format.ts';
import { type StreamFault, scriptStream } from './streaming/script-stream.ts';
import { writeStream } from './streaming/write-stream.ts';

/** What an answer depends on besides its request. */
export interface AnswerSettings {
  readonly promptCache: PromptCache;
  /** Tokens of the system prompt that the Messages accounts add. */
  readonly ownPromptTokens: number;
  /** The pace of streams, unless a fault says otherwise. */
  readonly eventDelayMs: number;
  readonly nowMs: () => number;
}

export interface UnderstoodRequest {
  readonly account: string;
  readonly body: JsonObject;
  readonly conversation: Conversation;
  readonly faults: MatchedFaults;
  readonly ending: StreamFault | undefined;
}

/** Answers a request that the provider accepts, streamed or whole, with the faults that change it. */
export async function answerRequest(
  exchange: Exchange,
  request: UnderstoodRequest,
  settings: AnswerSettings,
): Promise<void> {
  const answer = prepareAnswer(exchange, request, settings);
  if (request.conversation.stream) await streamAnswer(exchange, answer, request, settings);
  else await sendWhole(exchange, answer, request.faults);
}

function prepareAnswer(exchange: Exchange, request: UnderstoodRequest, settings: AnswerSettings): Answer {
  const { conversation, faults } = request;
  const plan = planAnswer(conversation);
  const input = inputUsage(exchange, request, settings);
  return {
    id: `sim${exchange.record.id.toString(16).padStart(21, '0')}`,
    account: request.account,
    createdAtSeconds: Math.floor(settings.nowMs() / 1000),
    request: request.body,
    conversation,
    plan,
    input: plan.cachedTokens === undefined ? input : withCached(input, plan.cachedTokens),
    shape: {
      usage: faults.changes.has('usage_missing') ? 'missing' : 'sent',
      usageMembers: faults.usage?.members ?? {},
      usageMembersAtStart: faults.usage?.atStart ?? {},
      numbered: !faults.changes.has('unnumbered_events'),
      finalOutput: faults.changes.has('empty_output') ? 'empty' : 'complete',
    },
  };
}

function inputUsage(
  { format }: Exchange,
  { account, conversation: { input, model, cacheScope } }: UnderstoodRequest,
  { promptCache, ownPromptTokens }: AnswerSettings,
): InputUsage {
  const own = format.name === 'messages' ? ownPromptTokens : 0;
  const segments = own > 0 ? [{ content: 'own prompt', tokens: own, cacheable: false }, ...input] : input;
  if (cacheScope !== undefined) return promptCache.use(JSON.stringify([account, model, cacheScope]), segments);
  return { inputTokens: sumTokens(segments), cachedTokens: 0, cacheWriteTokens: 0 };
}

function withCached({ inputTokens }: InputUsage, wanted: number): InputUsage {
  return { inputTokens, cachedTokens: Math.min(wanted, inputTokens), cacheWriteTokens: 0 };
}

async function sendWhole(exchange: Exchange, answer: Answer, faults: MatchedFaults): Promise<void> {
  const { parts } = answer.plan;
  bill(exchange, answer, {
    outputTokens: parts.reduce((sum, part) => sum + part.tokens, 0),
    reasoningTokens: parts.reduce((sum, part) => sum + (part.kind === 'reasoning' ? part.tokens : 0), 0),
  });
  await exchange.sendJson(200, exchange.format.body(answer), faults.headers);
  exchange.record.end('completed');
}

async function streamAnswer(
  exchange: Exchange,
  answer: Answer,
  { faults, ending }: UnderstoodRequest,
  { eventDelayMs }: AnswerSettings,
): Promise<void> {
  exchange.start(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...faults.headers,
  });
  const steps = scriptStream({
    format: exchange.format,
    answer,
    beforeFirstEventMs: faults.delay?.beforeFirstEventMs ?? 0,
    betweenEventsMs: faults.delay?.betweenEventsMs ?? eventDelayMs,
    unknownEvents: faults.changes.has('unknown_events'),
    ending,
  });
  const end = await writeStream(steps, {
    response: exchange.response,
    signal: exchange.signal,
    inPieces: faults.changes.has('split_utf8'),
    onEvents: (events) => noteEvents(exchange, answer, events),
    onBytes: () => exchange.record.sending(),
    onReset: () => {
      exchange.record.sending();
      exchange.record.end('faulted');
    },
  });
  exchange.record.end(end);
}

function noteEvents(exchange: Exchange, answer: Answer, events: readonly ProviderEvent[]): void {
  const last = events.at(-1);
  if (last === undefined) return;
  exchange.record.countEvents(events.length);
  bill(exchange, answer, last);
}

/** Input is billed as soon as the answer begins, output as it is sent. */
function bill(
  { record }: Exchange,
  { input }: Answer,
  { outputTokens, reasoningTokens }: Pick<ProviderEvent, 'outputTokens' | 'reasoningTokens'>,
): void {
  const { inputTokens, cachedTokens } = input;
  record.bill({ inputTokens, cachedTokens, outputTokens, reasoningTokens });
}

/** Waits as long as a fault says, before anything is sent. */
export async function delayHeaders({ signal }: Exchange, { delay }: MatchedFaults): Promise<void> {
  if (delay?.beforeHeadersMs !== undefined) await setTimeout(delay.beforeHeadersMs, undefined, { signal });
}
