import type { JsonObject } from '@gateway/json';
import { encryptReasoning } from '../answer/encrypted-reasoning.ts';
import type { AnswerPart } from '../answer/plan-answer.ts';
import type { Answer } from '../provider-format.ts';

type PartOf<Kind extends AnswerPart['kind']> = Extract<AnswerPart, { kind: Kind }>;
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** One part of the answer with the item it becomes. */
export interface OutputItem {
  readonly index: number;
  readonly id: string;
  readonly part: AnswerPart;
  /** The status of the item once it is done: the last item of an answer cut by a limit is incomplete. */
  readonly finalStatus: ItemStatus;
}

export function outputItemsOf(answer: Answer): readonly OutputItem[] {
  const { parts, ending } = answer.plan;
  const cut = ending.kind === 'length' || ending.kind === 'content_filter';
  return parts.map((part, index) => ({
    index,
    id: itemIdOf(answer, part, index),
    part,
    finalStatus: cut && index === parts.length - 1 ? 'incomplete' : 'completed',
  }));
}

/** The item as it is announced: nothing of its content yet. */
export function startedItem(item: OutputItem, answer: Answer): JsonObject {
  const { part } = item;
  if (part.kind === 'reasoning') return reasoningItem(item, answer, []);
  if (part.kind === 'tool_call') return functionCallItem(item, part, { status: 'in_progress', argumentsText: '' });
  return messageItem(item, answer, { status: 'in_progress', content: [] });
}

/** The whole item. */
export function finishedItem(item: OutputItem, answer: Answer): JsonObject {
  const { part, finalStatus: status } = item;
  if (part.kind === 'reasoning') return reasoningItem(item, answer, summaryOf(part));
  if (part.kind === 'tool_call') return functionCallItem(item, part, { status, argumentsText: part.argumentsText });
  return messageItem(item, answer, { status, content: [contentPart(part, part.text)] });
}

/** The only content part of a message, with so much of its text. */
export function contentPart(part: PartOf<'text' | 'refusal'>, text: string): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

function summaryOf({ text }: PartOf<'reasoning'>): readonly JsonObject[] {
  return text === '' ? [] : [{ type: 'summary_text', text }];
}

function reasoningItem({ id }: OutputItem, { account }: Answer, summary: readonly JsonObject[]): JsonObject {
  const encrypted = encryptReasoning({ account, id, content: id });
  return { id, type: 'reasoning', encrypted_content: encrypted, summary };
}

function messageItem(
  { id }: OutputItem,
  { plan }: Answer,
  { status, content }: { status: ItemStatus; content: readonly JsonObject[] },
): JsonObject {
  const phase = plan.parts.some((part) => part.kind === 'tool_call') ? 'commentary' : 'final_answer';
  return { id, type: 'message', status, content, phase, role: 'assistant' };
}

function functionCallItem(
  { id }: OutputItem,
  { name }: PartOf<'tool_call'>,
  { status, argumentsText }: { status: ItemStatus; argumentsText: string },
): JsonObject {
  return { id, type: 'function_call', status, arguments: argumentsText, call_id: `call_${id.slice(3)}`, name };
}

/**
 * The id of the item that a part of an answer becomes. Of a message or call it also says whether reasoning stands directly
 * before it, without which the provider does not take it back.
 */
export function itemIdOf({ id, plan }: Answer, { kind }: AnswerPart, index: number): string {
  const bound = kind !== 'reasoning' && plan.parts[index - 1]?.kind === 'reasoning';
  return writeId(prefixes[kind], { answerId: id, mark: bound ? boundMark : freeMark, index });
}

/** The id of the reasoning that an item came right after; undefined when there was none, or the id is not from here. */
export function requiredReasoningId(id: string): string | undefined {
  const [, answerId, mark, index] = /^(?:msg|fc)_(sim[0-9a-f]{21})(.)([0-9a-f]{4})$/.exec(id) ?? [];
  if (answerId === undefined || index === undefined || mark !== boundMark) return undefined;
  return writeId(prefixes.reasoning, { answerId, mark: freeMark, index: Number.parseInt(index, 16) - 1 });
}

const prefixes: Readonly<Record<AnswerPart['kind'], string>> = {
  reasoning: 'rs',
  text: 'msg',
  refusal: 'msg',
  tool_call: 'fc',
};

const boundMark = 'f';
const freeMark = '0';

function writeId(
  prefix: string,
  { answerId, mark, index }: { readonly answerId: string; readonly mark: string; readonly index: number },
): string {
  return `${prefix}_${answerId}${mark}${index.toString(16).padStart(4, '0')}`;
}
