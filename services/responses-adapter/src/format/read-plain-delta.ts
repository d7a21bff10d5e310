import { endOfPlainString, type PlainString, readPlainString, standsAt } from '@gateway/json';
import type { ArgumentsDelta, ReasoningDelta, TextDelta } from './event-types.ts';

export type PlainDelta = TextDelta | ArgumentsDelta | ReasoningDelta;

/**
 * The event in a block of lines, `[start, end)`, if it is a delta written as providers write them: name and type first,
 * then members that are plain strings, whole numbers or empty lists, in any order. Nearly all of a stream is such, and is
 * read in a fraction of the time so. Undefined for everything else, which is to be parsed.
 */
export function readPlainDelta(block: string, start: number, end: number): PlainDelta | undefined {
  const kind = deltaKinds.find(({ opening }) => standsAt(block, start, opening));
  const members = kind && readMembers(block, start + kind.opening.length, end);
  return members?.delta === undefined ? undefined : kind?.toDelta(members.delta.value, members);
}

interface DeltaKind {
  /** What the block begins with, to the end of the type. */
  readonly opening: string;
  toDelta(delta: string, members: Members): PlainDelta;
}

const deltaKinds: readonly DeltaKind[] = [
  {
    opening: openingOf('response.output_text.delta'),
    toDelta: (text, { delta, outputIndex, contentIndex = 0 }) => ({
      kind: 'text-delta',
      outputIndex,
      contentIndex,
      part: { type: 'text', text, textJson: delta?.json },
    }),
  },
  {
    opening: openingOf('response.function_call_arguments.delta'),
    toDelta: (text, { delta, outputIndex }) => ({
      kind: 'arguments-delta',
      outputIndex,
      delta: text,
      deltaJson: delta?.json,
    }),
  },
  {
    opening: openingOf('response.reasoning_summary_text.delta'),
    toDelta: (delta) => ({ kind: 'reasoning-delta', delta }),
  },
];

function openingOf(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}"`;
}

interface Members {
  delta: PlainString | undefined;
  outputIndex: number | undefined;
  contentIndex: number | undefined;
}

/** The members up to the object's end, which must be the block's. Of a repeated one the last counts, as in JSON.parse. */
function readMembers(block: string, from: number, end: number): Members | undefined {
  const members: Members = { delta: undefined, outputIndex: undefined, contentIndex: undefined };
  let at = from;
  while (block.charCodeAt(at) === comma) {
    at = readMember(block, at + 1, members);
    if (at < 0) return undefined;
  }
  return block.charCodeAt(at) === closingBrace && at + 1 === end ? members : undefined;
}

/** Returns where the member ends; -1 when it is not plain, or another type. */
function readMember(block: string, start: number, members: Members): number {
  const keyEnd = endOfPlainString(block, start);
  if (keyEnd < 0 || block.charCodeAt(keyEnd) !== colon) return -1;
  const valueStart = keyEnd + 1;
  switch (block.slice(start, keyEnd)) {
    case '"type"':
      return -1;
    case '"delta"':
      members.delta = readPlainString(block, valueStart);
      return members.delta?.end ?? -1;
    case '"output_index"':
      members.outputIndex = wholeNumber(block, valueStart);
      return endOfDigits(block, valueStart);
    case '"content_index"':
      members.contentIndex = wholeNumber(block, valueStart);
      return endOfDigits(block, valueStart);
    default:
      return endOfPlainValue(block, valueStart);
  }
}

function endOfPlainValue(block: string, start: number): number {
  const first = block.charCodeAt(start);
  if (first === openingBracket) return block.charCodeAt(start + 1) === closingBracket ? start + 2 : -1;
  return isDigit(first) ? endOfDigits(block, start) : endOfPlainString(block, start);
}

/** Behind the digits of a whole number; -1 when JSON has no such number, or it has too many digits to be exact. */
function endOfDigits(block: string, start: number): number {
  let at = start;
  while (isDigit(block.charCodeAt(at))) at += 1;
  const hasLeadingZero = at > start + 1 && block.charCodeAt(start) === zero;
  return at === start || hasLeadingZero || at > start + maxDigits ? -1 : at;
}

const maxDigits = 9;

function wholeNumber(block: string, start: number): number {
  let value = 0;
  for (let at = start; isDigit(block.charCodeAt(at)); at += 1) value = value * 10 + block.charCodeAt(at) - zero;
  return value;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= 0x39;
}

const zero = 0x30;
const comma = 0x2c;
const colon = 0x3a;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const closingBrace = 0x7d;
