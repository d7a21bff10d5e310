import type { Conversation, DeclaredTool } from './conversation.ts';
import { cutAnswer } from './cut-answer.ts';
import { type Directives, readDirectives, type ToolDirective } from './directives.ts';
import { instanceOfSchema } from './json-instance.ts';
import { countTokens } from './tokens.ts';

/** What the simulated model says, before it is put into a provider's format. */
export interface AnswerPlan {
  readonly parts: readonly AnswerPart[];
  readonly ending: AnswerEnding;
  /** What `#cached` asked for; undefined: the prompt cache decides. */
  readonly cachedTokens: number | undefined;
}

export type AnswerPart =
  | { readonly kind: 'reasoning'; readonly text: string; readonly redacted: boolean; readonly tokens: number }
  | { readonly kind: 'text'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'refusal'; readonly text: string; readonly tokens: number }
  | { readonly kind: 'tool_call'; readonly name: string; readonly argumentsText: string; readonly tokens: number };

export type AnswerEnding =
  | { readonly kind: 'finished' }
  | { readonly kind: 'tool_calls' }
  | { readonly kind: 'length' }
  | { readonly kind: 'content_filter' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'stop_sequence'; readonly sequence: string };

/** Decides the answer to a conversation: the same conversation always gets the same answer. */
export function planAnswer(conversation: Conversation): AnswerPlan {
  const directives = readDirectives(conversation.userText);
  const calls = planToolCalls(conversation, directives);
  const parts = [...planReasoning(conversation, directives), ...planText(conversation, directives, calls), ...calls];
  const ending = plannedEnding(directives, calls);
  // So many bytes are asked for to see what becomes of them: a limit would spoil that.
  const bounds = directives.bytes === undefined ? conversation : { ...conversation, maxOutputTokens: undefined };
  const cut = cutAnswer(parts, { ...bounds, ending });
  return { ...cut, cachedTokens: directives.cachedTokens };
}

function plannedEnding(directives: Directives, calls: readonly AnswerPart[]): AnswerEnding {
  if (directives.refuse) return { kind: 'refused' };
  if (directives.incomplete !== undefined) return { kind: directives.incomplete };
  return calls.length > 0 ? { kind: 'tool_calls' } : { kind: 'finished' };
}

function planReasoning({ reasoning }: Conversation, directives: Directives): readonly AnswerPart[] {
  if (reasoning === 'off') return [];
  return directives.reasoning
    .filter(({ tokens }) => tokens > 0)
    .map(({ tokens, redacted }) => {
      const text = reasoning === 'shown' && !redacted ? thought : '';
      return { kind: 'reasoning', text, redacted, tokens };
    });
}

const thought = 'The user wants an answer. The answer follows from the request.';

function planToolCalls(conversation: Conversation, directives: Directives): readonly AnswerPart[] {
  if (directives.refuse || conversation.toolChoice.kind === 'none') return [];
  const told = directives.toolCalls.flatMap((directive) => callOf(directive, conversation.tools));
  const calls = told.length > 0 ? told : forcedCall(conversation);
  return conversation.parallelToolCalls ? calls : calls.slice(0, 1);
}

function callOf({ name, argumentsText }: ToolDirective, tools: readonly DeclaredTool[]): readonly AnswerPart[] {
  const tool = tools.find((candidate) => candidate.name === name);
  return tool === undefined ? [] : [toolCall(tool, argumentsText)];
}

function forcedCall({ tools, toolChoice }: Conversation): readonly AnswerPart[] {
  if (toolChoice.kind !== 'any' && toolChoice.kind !== 'named') return [];
  const tool = toolChoice.kind === 'any' ? tools[0] : tools.find((candidate) => candidate.name === toolChoice.name);
  return tool === undefined ? [] : [toolCall(tool, undefined)];
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
