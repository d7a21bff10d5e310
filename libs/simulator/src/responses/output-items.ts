import type { JsonObject } from '@gateway/json';
import { encryptReasoning } from '../answer/encrypted-reasoning.ts';
import type { AnswerPart } from '../answer/plan-answer.ts';
import type { Answer } from '../simulated-format.ts';

/** One part of the answer with its output item. */
export interface OutputItem {
  readonly index: number;
  readonly id: string;
  readonly part: AnswerPart;
  /**
   * The status of the item when it is done: the last item of an answer that a limit cut is
   * incomplete.
   */
  readonly finalStatus: 'completed' | 'incomplete';
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

/** The item, either when it starts, without content, or when it is finished. */
export function itemObject(
  { id, part, finalStatus }: OutputItem,
  { account, plan }: Answer,
  isFinished: boolean,
): JsonObject {
  const status = isFinished ? finalStatus : 'in_progress';
  if (part.kind === 'reasoning') {
    const summary = isFinished && part.text !== '' ? [{ type: 'summary_text', text: part.text }] : [];
    return { id, type: 'reasoning', encrypted_content: encryptReasoning({ account, id, content: id }), summary };
  }
  if (part.kind === 'tool_call') {
    const { name, argumentsText } = part;
    const written = isFinished ? argumentsText : '';
    return { id, type: 'function_call', status, arguments: written, call_id: `call_${id.slice(3)}`, name };
  }
  const content = isFinished ? [contentPart(part, part.text)] : [];
  const phase = plan.parts.some(({ kind }) => kind === 'tool_call') ? 'commentary' : 'final_answer';
  return { id, type: 'message', status, content, phase, role: 'assistant' };
}

/** The single content part of a message, with this much of its text. */
export function contentPart(part: Extract<AnswerPart, { kind: 'text' | 'refusal' }>, text: string): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

/**
 * The id of the output item for a part of an answer. For a message or call it also encodes whether
 * reasoning directly precedes it, without which the provider does not accept it back.
 */
function itemIdOf({ id, plan }: Answer, { kind }: AnswerPart, index: number): string {
  const bound = kind !== 'reasoning' && plan.parts[index - 1]?.kind === 'reasoning';
  return writeId(kind, id, bound ? boundMark : freeMark, index);
}

/**
 * The id of the reasoning that directly preceded an item; undefined when there was none, or the id
 * is not from a simulator.
 */
export function requiredReasoningId(id: string): string | undefined {
  const [, answerId, mark, index] = /^(?:msg|fc)_(sim[0-9a-f]{21})(.)([0-9a-f]{4})$/.exec(id) ?? [];
  if (answerId === undefined || index === undefined || mark !== boundMark) return undefined;
  return writeId('reasoning', answerId, freeMark, Number.parseInt(index, 16) - 1);
}

const prefixes: Readonly<Record<AnswerPart['kind'], string>> = {
  reasoning: 'rs',
  text: 'msg',
  refusal: 'msg',
  tool_call: 'fc',
};

const boundMark = 'f';
const freeMark = '0';

function writeId(kind: AnswerPart['kind'], answerId: string, mark: string, index: number): string {
  return `${prefixes[kind]}_${answerId}${mark}${index.toString(16).padStart(4, '0')}`;
}
