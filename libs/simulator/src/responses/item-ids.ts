import type { AnswerPart } from '../answer/plan-answer.ts';
import type { Answer } from '../provider-format.ts';

/**
 * The id of the item that a part of an answer becomes. Of a message or call it also tells whether reasoning stands directly
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
