import { type FinishReason, type ReportedUsage, type TokenUsage, toReportedUsage, wholeUsage } from '@gateway/chat';
import { type AssembledAnswer, args, assemble, call, type Delta, refusal, text } from '@gateway/testkit/adapters';
import fc from 'fast-check';
import {
  type AnyCall,
  type AnyItem,
  type AnyMessage,
  anyItems,
  itemEvents,
  nameOf,
  wireItem,
} from './arbitrary-items.ts';
import { errorEvent, type ProviderStreamEvent } from './provider-events.ts';
import { completed, created, failed, incomplete, type ProviderResponse, usageReport } from './provider-responses.ts';

/** A provider's events in a valid order, and the expected result for a chat client. */
export interface ArbitraryAnswer {
  readonly events: readonly ProviderStreamEvent[];
  readonly wantsJson: boolean;
  /** Without a finish reason and usage if it failed. */
  readonly expected: AssembledAnswer;
  readonly reportedUsage: ReportedUsage | undefined;
  readonly producedCharacters: number;
}

interface Plan {
  readonly items: readonly AnyItem[];
  readonly wantsJson: boolean;
  /** Which of the items in progress continues next; empty when each ends before the next starts. */
  readonly turns: readonly number[];
  readonly outputIsFilled: boolean;
  readonly ending: 'completed' | 'max_output_tokens' | 'content_filter' | 'failed' | 'error' | 'cut off';
  readonly usage: TokenUsage | undefined;
}

const anyCount = fc.oneof(fc.nat(200), fc.nat(2_000_000));

/** Cached tokens are part of the input, reasoning tokens of the output. */
const anyUsage: fc.Arbitrary<TokenUsage> = fc
  .tuple(anyCount, anyCount, anyCount, anyCount)
  .map(([cachedTokens, fresh, reasoningTokens, said]) => ({
    inputTokens: cachedTokens + fresh,
    cachedTokens,
    outputTokens: reasoningTokens + said,
    reasoningTokens,
  }));

export const anyAnswer: fc.Arbitrary<ArbitraryAnswer> = fc
  .record<Plan>({
    items: anyItems,
    wantsJson: fc.boolean(),
    turns: fc.oneof(fc.constant([]), fc.array(fc.nat(5), { minLength: 60, maxLength: 60 })),
    outputIsFilled: fc.boolean(),
    ending: fc.oneof(
      { weight: 3, arbitrary: fc.constant('completed' as const) },
      fc.constantFrom('max_output_tokens', 'content_filter', 'failed', 'error', 'cut off'),
    ),
    usage: fc.option(anyUsage, { nil: undefined }),
  })
  .map(toAnswer);

function toAnswer(plan: Plan): ArbitraryAnswer {
  const said = shownInTurns(plan);
  const finishReason = finishReasonOf(plan);
  const reportedUsage = plan.usage && toReportedUsage(plan.usage);
  const producedCharacters = plan.items.reduce((sum, item) => sum + charactersOf(item), 0);
  return {
    events: [created(), ...said, ...endingEvents(plan)],
    wantsJson: plan.wantsJson,
    expected: assemble({
      deltas: expectedDeltas(plan, said),
      finishReason,
      usage: finishReason === undefined ? undefined : wholeUsage(reportedUsage, producedCharacters),
    }),
    reportedUsage: plan.ending === 'error' || plan.ending === 'cut off' ? undefined : reportedUsage,
    producedCharacters,
  };
}

/** Items may be interleaved, except for messages, which are one text for a chat client. */
function shownInTurns({ items, turns }: Plan): readonly ProviderStreamEvent[] {
  const shown = items.map((item, index) => ({ item, events: itemEvents(item, index) }));
  if (turns.length === 0) return shown.flatMap(({ events }) => events);
  const messages = shown.filter(({ item }) => item.kind === 'message').flatMap(({ events }) => events);
  const others = shown.filter(({ item }) => item.kind !== 'message').map(({ events }) => [...events]);
  let waiting = [[...messages], ...others];
  const inOrder: ProviderStreamEvent[] = [];
  for (let turn = 0; ; turn += 1) {
    waiting = waiting.filter((events) => events.length > 0);
    const next = waiting[(turns[turn % turns.length] ?? 0) % waiting.length]?.shift();
    if (next === undefined) return inOrder;
    inOrder.push(next);
  }
}

function endingEvents({ items, ending, outputIsFilled, usage }: Plan): readonly ProviderStreamEvent[] {
  const members: Partial<ProviderResponse> = {
    output: outputIsFilled ? items.map(wireItem) : [],
    ...(usage && { usage: usageReport(toTokens(usage)) }),
  };
  switch (ending) {
    case 'completed':
      return [completed(members)];
    case 'max_output_tokens':
    case 'content_filter':
      return [incomplete(ending, members)];
    case 'failed':
      return [failed('server_error', members)];
    case 'error':
      return [errorEvent('slow_down')];
    case 'cut off':
      return [];
  }
}

function toTokens({ inputTokens, cachedTokens, outputTokens, reasoningTokens }: TokenUsage) {
  return { input: inputTokens, cached: cachedTokens, output: outputTokens, reasoning: reasoningTokens };
}

function finishReasonOf({ ending, items }: Plan): FinishReason | undefined {
  if (ending === 'completed') return items.some(({ kind }) => kind === 'call') ? 'tool_calls' : 'stop';
  if (ending === 'max_output_tokens') return 'length';
  return ending === 'content_filter' ? ending : undefined;
}

/** Everything that the client receives; its division into deltas is not specified. */
function expectedDeltas(plan: Plan, shown: readonly ProviderStreamEvent[]): readonly Delta[] {
  const messages = plan.items.filter((item) => item.kind === 'message');
  return [
    text(plan.wantsJson ? onlyMessage(messages, finishReasonOf(plan) !== undefined) : asOneText(messages)),
    refusal(messages.map((item) => saidBy(item, 'refusal')).join('')),
    ...callsInOrder(plan, shown).flatMap((item, index) => [
      call(index, item.id, nameOf(item)),
      args(index, item.pieces.join('') || noArguments(item, plan, shown)),
    ]),
  ];
}

function asOneText(messages: readonly AnyMessage[]): string {
  const texts = messages.map((item) => saidBy(item, 'text'));
  return texts.filter((said) => said !== '').join('\n\n');
}

/**
 * The first message that is not commentary. Commentary is held back until nothing better can
 * follow.
 */
function onlyMessage(messages: readonly AnyMessage[], isFinished: boolean): string {
  const speaking = messages.filter((item) => saidBy(item, 'text') !== '');
  const chosen = speaking.find(({ phase }) => phase !== 'commentary') ?? (isFinished ? speaking.at(-1) : undefined);
  return chosen === undefined ? '' : saidBy(chosen, 'text');
}

/** Calls are numbered in the order in which their names arrive. */
function callsInOrder({ items }: Plan, shown: readonly ProviderStreamEvent[]): readonly AnyCall[] {
  const namedAt = ({ id }: AnyCall) =>
    shown.findIndex((event) => 'item' in event && event.item.type === 'function_call' && event.item.call_id === id);
  return items.filter((item) => item.kind === 'call').toSorted((a, b) => namedAt(a) - namedAt(b));
}

/**
 * An empty object replaces missing arguments if the call is known to be complete: something follows
 * it, or the whole answer is complete.
 */
function noArguments(item: AnyCall, plan: Plan, shown: readonly ProviderStreamEvent[]): string {
  const { items, ending, outputIsFilled } = plan;
  const isListed = outputIsFilled && finishReasonOf(plan) !== undefined && item !== items.at(-1);
  return ending === 'completed' || isListed || isFollowed(items.indexOf(item), shown) ? '{}' : '';
}

/** Whether an item starts after this one has ended. */
function isFollowed(index: number, shown: readonly ProviderStreamEvent[]): boolean {
  const read = shown.filter(({ type }) => !type.startsWith('response.reasoning') && !otherEvents.has(type));
  const indexes = read.map((event) => ('output_index' in event ? event.output_index : undefined));
  const end = read.findIndex(({ type }, at) => type === 'response.output_item.done' && indexes[at] === index);
  return end >= 0 && indexes.slice(end).some((other) => indexes.indexOf(other) > end);
}

const otherEvents: ReadonlySet<string> = new Set(['response.content_part.added', 'response.web_search_call.completed']);

function saidBy({ parts }: AnyMessage, kind: 'text' | 'refusal'): string {
  return parts.map((part) => (part.kind === kind ? part.pieces.join('') : '')).join('');
}

function charactersOf(item: AnyItem): number {
  if (item.kind === 'search') return 0;
  return item.kind === 'message'
    ? saidBy(item, 'text').length + saidBy(item, 'refusal').length
    : item.pieces.join('').length;
}
