import type { Conversation, DeclaredTool } from './conversation.ts';
import { type Directives, readDirectives, type ToolDirective } from './directives.ts';
import { instanceOfSchema } from './json-instance.ts';
import { countTokens, cutToTokens } from './text.ts';

/** What the simulated model says, before it is put into a provider's format. */
export interface AnswerPlan {
  readonly parts: readonly AnswerPart[];
  readonly ending: AnswerEnding;
  /** How much of the input to report as read from and written to the cache. */
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
}

export type AnswerPart =
  | { readonly kind: 'reasoning'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'text'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'refusal'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'tool_call'; readonly name: string; readonly argumentsText: string; readonly tokens: number };

export type AnswerEnding =
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
  const parts = [...planReasoning(conversation, directives), ...planText(conversation, directives, calls), ...calls];
  const ending = plannedEnding(directives, calls);
  // So many bytes are asked for to see what becomes of them: a limit would spoil that.
  const limit = directives.bytes === undefined ? conversation.maxOutputTokens : undefined;
  const stopped = cutAtStopSequence({ parts, ending }, conversation.stopSequences);
  const cachedTokens = Math.min(directives.cachedTokens, conversation.inputTokens);
  const cacheWriteTokens = Math.min(directives.cacheWriteTokens, conversation.inputTokens - cachedTokens);
  return { ...cutAtLimit(stopped, limit ?? Number.POSITIVE_INFINITY), cachedTokens, cacheWriteTokens };
}

function plannedEnding(directives: Directives, calls: readonly AnswerPart[]): AnswerEnding {
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

function planToolCalls(conversation: Conversation, directives: Directives): readonly AnswerPart[] {
  if (directives.refuse || conversation.toolChoice.kind === 'none') return [];
  const directed = directives.toolCalls.flatMap((directive) => callOf(directive, conversation.tools));
  const calls = directed.length > 0 ? directed : forcedCall(conversation);
  return conversation.parallelToolCalls ? calls : calls.slice(0, 1);
}

function callOf({ name, argumentsText }: ToolDirective, tools: readonly DeclaredTool[]): readonly AnswerPart[] {
  const tool = tools.find((candidate) => candidate.name === name);
  return tool === undefined ? [] : [toolCall(tool, argumentsText)];
}

function forcedCall({ tools, toolChoice }: Conversation): readonly AnswerPart[] {
  const name = toolChoice.kind === 'named' ? toolChoice.name : tools[0]?.name;
  const tool = tools.find((candidate) => candidate.name === name);
  return tool === undefined || toolChoice.kind === 'auto' ? [] : [toolCall(tool, undefined)];
}

function toolCall(tool: DeclaredTool, given: string | undefined): AnswerPart {
  const argumentsText = given ?? JSON.stringify(instanceOfSchema({ type: 'object', ...tool.schema }));
  return { kind: 'tool_call', name: tool.name, argumentsText, tokens: countTokens(tool.name + argumentsText) };
}

function planText(
  conversation: Conversation,
  directives: Directives,
  calls: readonly AnswerPart[],
): readonly AnswerPart[] {
  if (directives.refuse) return [said('refusal', "I can't help with that.")];
  const text = calls.length > 0 ? textBesideCalls(directives) : textOfAnswer(conversation, directives);
  return text === '' ? [] : [said('text', text)];
}

function textBesideCalls({ rest }: Directives): string {
  return rest === '' ? '' : `echo: ${rest}`;
}

function textOfAnswer(conversation: Conversation, directives: Directives): string {
  const { answerFormat } = conversation;
  if (answerFormat.kind === 'json_schema') return JSON.stringify(instanceOfSchema(answerFormat.schema));
  if (answerFormat.kind === 'json_object' || directives.json) return JSON.stringify({ echo: directives.rest });
  if (directives.bytes !== undefined) return manyBytes(directives.bytes);
  if (directives.words !== undefined) return manyWords(directives.words);
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

/** One word, so that its deltas are as long as deltas get. */
function manyBytes(count: number): string {
  return '0123456789abcdef'.repeat(Math.ceil(count / 16)).slice(0, count);
}

function said(kind: 'text' | 'refusal', text: string): AnswerPart {
  return { kind, text, tokens: countTokens(text) };
}

type CutAnswer = Pick<AnswerPlan, 'parts' | 'ending'>;

function cutAtStopSequence({ parts, ending }: CutAnswer, stopSequences: readonly string[]): CutAnswer {
  for (const [index, part] of parts.entries()) {
    const found = part.kind === 'text' ? firstStopSequence(part.text, stopSequences) : undefined;
    if (found === undefined || part.kind !== 'text') continue;
    const text = part.text.slice(0, found.position);
    const shortened = text === '' ? [] : [{ ...part, text, tokens: countTokens(text) }];
    return {
      parts: [...parts.slice(0, index), ...shortened],
      ending: { kind: 'stop_sequence', sequence: found.sequence },
    };
  }
  return { parts, ending };
}

function firstStopSequence(text: string, sequences: readonly string[]) {
  return sequences
    .map((sequence) => ({ sequence, position: text.indexOf(sequence) }))
    .filter(({ position }) => position >= 0)
    .sort((left, right) => left.position - right.position)[0];
}

/** Reasoning counts too. */
function cutAtLimit({ parts, ending }: CutAnswer, maximumTokens: number): CutAnswer {
  const kept: AnswerPart[] = [];
  let remaining = maximumTokens;
  for (const part of parts) {
    if (part.tokens > remaining) {
      return { parts: [...kept, ...shorten(part, remaining)], ending: { kind: 'length' } };
    }
    kept.push(part);
    remaining -= part.tokens;
  }
  return { parts: kept, ending };
}

function shorten(part: AnswerPart, tokens: number): readonly AnswerPart[] {
  if (tokens === 0) return [];
  if (part.kind === 'reasoning') return [{ ...part, tokens }];
  if (part.kind === 'tool_call') return shortenCall(part, tokens);
  const text = cutToTokens(part.text, tokens);
  return text === '' ? [] : [{ ...part, text, tokens: countTokens(text) }];
}

/** A call cut by the limit keeps its name and the beginning of its arguments: clients see JSON that does not end. */
function shortenCall(part: Extract<AnswerPart, { kind: 'tool_call' }>, tokens: number): readonly AnswerPart[] {
  const kept = cutToTokens(part.name + part.argumentsText, tokens);
  if (kept.length < part.name.length) return [];
  const argumentsText = kept.slice(part.name.length);
  return [{ ...part, argumentsText, tokens: countTokens(kept) }];
}
