import type { Conversation, DeclaredTool } from './conversation.ts';
import { type Directives, readDirectives } from './directives.ts';
import { instanceOfSchema } from './json-instance.ts';
import { countTokens, cutToTokens } from './text.ts';

/** The simulated model's answer, before it is converted to a provider's format. */
export interface AnswerPlan {
  readonly parts: readonly AnswerPart[];
  readonly ending: PlannedStop;
  /** How much of the input is reported as read from the cache and as written to it. */
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
}

export type AnswerPart =
  | { readonly kind: 'reasoning'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'text' | 'refusal'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'tool_call'; readonly name: string; readonly argumentsText: string; readonly tokens: number };

export type PlannedStop =
  | { readonly kind: 'finished' | 'tool_calls' | 'length' | 'content_filter' | 'refused' }
  | { readonly kind: 'stop_sequence'; readonly sequence: string };

export function tokensOf(parts: readonly AnswerPart[]): number {
  return parts.reduce((sum, { tokens }) => sum + tokens, 0);
}

export function reasoningTokensOf(parts: readonly AnswerPart[]): number {
  return tokensOf(parts.filter(({ kind }) => kind === 'reasoning'));
}

/** Decides the answer to a conversation: the same conversation always gets the same answer. */
export function planAnswer(conversation: Conversation): AnswerPlan {
  const directives = readDirectives(conversation.userText);
  const calls = planToolCalls(conversation, directives);
  const text = directives.refuse ? '' : textOfAnswer(conversation, directives, calls.length > 0);
  const stop = firstStopSequence(text, conversation.stopSequences);
  const parts = [
    ...planReasoning(conversation, directives),
    ...spoken('refusal', directives.refuse ? "I can't help with that." : ''),
    ...spoken('text', text.slice(0, stop?.position)),
    ...(stop === undefined ? calls : []),
  ];
  const ending = stop === undefined ? plannedEnding(directives, calls) : stop.ending;
  // A test that requests a number of bytes needs all of them, so no limit applies.
  const limit = directives.bytes === undefined ? conversation.maxOutputTokens : undefined;
  const cachedTokens = Math.min(directives.cachedTokens, conversation.inputTokens);
  const cacheWriteTokens = Math.min(directives.cacheWriteTokens, conversation.inputTokens - cachedTokens);
  return { ...cutAtLimit(parts, ending, limit ?? Number.POSITIVE_INFINITY), cachedTokens, cacheWriteTokens };
}

function planToolCalls(
  { tools, toolChoice, parallelToolCalls }: Conversation,
  { refuse, toolCalls }: Directives,
): readonly AnswerPart[] {
  if (refuse || toolChoice.kind === 'none') return [];
  const directed = toolCalls.flatMap(({ name, argumentsText }) => callOf(tools, name, argumentsText));
  const forced = toolChoice.kind === 'named' ? toolChoice.name : tools[0]?.name;
  const calls = directed.length > 0 || toolChoice.kind === 'auto' ? directed : callOf(tools, forced);
  return parallelToolCalls ? calls : calls.slice(0, 1);
}

/** A call of the tool with that name, if the request declares it. */
function callOf(tools: readonly DeclaredTool[], name: string | undefined, given?: string): readonly AnswerPart[] {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return [];
  const argumentsText = given ?? JSON.stringify(instanceOfSchema({ type: 'object', ...tool.schema }));
  return [{ kind: 'tool_call', name: tool.name, argumentsText, tokens: countTokens(tool.name + argumentsText) }];
}

function plannedEnding(directives: Directives, calls: readonly AnswerPart[]): PlannedStop {
  if (directives.refuse) return { kind: 'refused' };
  if (directives.incomplete !== undefined) return { kind: directives.incomplete };
  return calls.length > 0 ? { kind: 'tool_calls' } : { kind: 'finished' };
}

function planReasoning({ reasoning }: Conversation, directives: Directives): readonly AnswerPart[] {
  if (reasoning === 'off') return [];
  const text = reasoning === 'shown' ? thought : '';
  return directives.reasoning.filter((tokens) => tokens > 0).map((tokens) => ({ kind: 'reasoning', text, tokens }));
}

const thought = 'The user wants an answer. The answer follows from the request.';

function textOfAnswer(conversation: Conversation, directives: Directives, isBesideCalls: boolean): string {
  const { answerFormat } = conversation;
  const { rest, json, bytes, words } = directives;
  if (isBesideCalls) return rest === '' ? '' : `echo: ${rest}`;
  if (answerFormat.kind === 'json_schema') return JSON.stringify(instanceOfSchema(answerFormat.schema));
  if (answerFormat.kind === 'json_object' || json) return JSON.stringify({ echo: rest });
  // A single word, so that its deltas are as long as deltas get.
  if (bytes !== undefined) return '0123456789abcdef'.repeat(Math.ceil(bytes / 16)).slice(0, bytes);
  if (words !== undefined) return manyWords(words);
  return plainAnswer(conversation, directives);
}

function plainAnswer({ toolResults, imageCount, tools }: Conversation, { rest, toolCalls }: Directives): string {
  const undeclared = toolCalls.filter(({ name }) => !tools.some((tool) => tool.name === name));
  const sentences = [
    ...undeclared.map(({ name }) => `no tool named ${name} is declared`),
    ...toolResults.map(({ name, text }) => `${name} returned: ${text}`),
  ];
  if (rest !== '' || sentences.length === 0) sentences.push(`echo: ${rest}`.trim());
  if (imageCount > 0) sentences.push(`[${imageCount} image${imageCount === 1 ? '' : 's'}]`);
  return sentences.join('\n');
}

const vocabulary = ['the', 'gateway', 'relays', 'één', 'naïve', 'word', '日本', 'after', '🚀', 'another'];

function manyWords(count: number): string {
  return Array.from({ length: count }, (_, index) => vocabulary[index % vocabulary.length]).join(' ');
}

/** Empty when the text is empty. */
function spoken(kind: 'text' | 'refusal', text: string): readonly AnswerPart[] {
  return text === '' ? [] : [{ kind, text, tokens: countTokens(text) }];
}

function firstStopSequence(text: string, sequences: readonly string[]) {
  return sequences
    .map((sequence) => ({ ending: { kind: 'stop_sequence' as const, sequence }, position: text.indexOf(sequence) }))
    .filter(({ position }) => position >= 0)
    .sort((left, right) => left.position - right.position)[0];
}

/** Reasoning counts towards the limit. */
function cutAtLimit(parts: readonly AnswerPart[], ending: PlannedStop, maximumTokens: number) {
  let remaining = maximumTokens;
  for (const [index, part] of parts.entries()) {
    if (part.tokens > remaining) {
      return { parts: [...parts.slice(0, index), ...shorten(part, remaining)], ending: { kind: 'length' as const } };
    }
    remaining -= part.tokens;
  }
  return { parts, ending };
}

function shorten(part: AnswerPart, tokens: number): readonly AnswerPart[] {
  if (tokens === 0) return [];
  if (part.kind === 'reasoning') return [{ ...part, tokens }];
  if (part.kind !== 'tool_call') return spoken(part.kind, cutToTokens(part.text, tokens));
  // A call that the limit cuts keeps its name and the start of its arguments: clients receive
  // incomplete JSON.
  const kept = cutToTokens(part.name + part.argumentsText, tokens);
  if (kept.length < part.name.length) return [];
  return [{ ...part, argumentsText: kept.slice(part.name.length), tokens: countTokens(kept) }];
}
