import type { AnswerPart } from '../answer/plan-answer.ts';
import { sealReasoning } from '../answer/reasoning-seal.ts';
import type { JsonObject } from '../json-value.ts';
import type { Answer } from '../provider-format.ts';
import { itemIdOf } from './item-ids.ts';

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

function reasoningItem(
  { id }: OutputItem,
  { account, createdAtSeconds }: Answer,
  summary: readonly JsonObject[],
): JsonObject {
  const seal = sealReasoning({ account, id, content: id, createdAtSeconds });
  return { id, type: 'reasoning', encrypted_content: seal, summary };
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
