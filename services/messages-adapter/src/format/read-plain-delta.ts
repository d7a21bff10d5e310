import { readPlainString, standsAt } from '@gateway/json';
import type { InputJsonDelta, TextDelta, ThinkingDelta } from './event-types.ts';

export type PlainDelta = TextDelta | InputJsonDelta | ThinkingDelta;

/**
 * The event in a block of lines, `[start, end)`, if it is a delta in the very bytes in which providers write them: nearly
 * all of a stream are, and are read in a fifth of the time so. Undefined for everything else, which is to be parsed.
 */
export function readPlainDelta(block: string, start: number, end: number): PlainDelta | undefined {
  if (!standsAt(block, start, deltaStart)) return undefined;
  const indexStart = start + deltaStart.length;
  const indexEnd = endOfIndex(block, indexStart);
  const kind = deltaKinds.find(({ opening }) => standsAt(block, indexEnd, opening));
  if (indexEnd === indexStart || kind === undefined) return undefined;
  const piece = readPlainString(block, indexEnd + kind.opening.length - 1);
  if (piece === undefined || !closesBoth(block, piece.end, end)) return undefined;
  return kind.toDelta(Number(block.slice(indexStart, indexEnd)), piece.value, piece.json);
}

const deltaStart = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';

interface DeltaKind {
  /** What stands between the index and the piece, the piece's first quote included. */
  readonly opening: string;
  toDelta(index: number, piece: string, pieceJson: string): PlainDelta;
}

const deltaKinds: readonly DeltaKind[] = [
  {
    opening: ',"delta":{"type":"text_delta","text":"',
    toDelta: (index, text, textJson) => ({ kind: 'text-delta', index, text, textJson }),
  },
  {
    opening: ',"delta":{"type":"input_json_delta","partial_json":"',
    toDelta: (index, json, pieceJson) => ({ kind: 'input-json-delta', index, json, pieceJson }),
  },
  {
    opening: ',"delta":{"type":"thinking_delta","thinking":"',
    toDelta: (_index, thinking) => ({ kind: 'thinking-delta', thinking }),
  },
];

/** Behind the digits of a number as JSON has them; the start itself when it is no such number, or has many digits. */
function endOfIndex(block: string, start: number): number {
  let at = start;
  while (isDigit(block.charCodeAt(at))) at += 1;
  const hasLeadingZero = at > start + 1 && block.charCodeAt(start) === zero;
  return hasLeadingZero || at > start + maxIndexDigits ? start : at;
}

const maxIndexDigits = 9;

/** Two closing braces, of the delta and of the event, are all that is left; some providers pad them with spaces. */
function closesBoth(block: string, from: number, end: number): boolean {
  if (block.charCodeAt(from) !== closingBrace) return false;
  const second = skipSpaces(block, from + 1);
  return block.charCodeAt(second) === closingBrace && skipSpaces(block, second + 1) === end;
}

function skipSpaces(block: string, from: number): number {
  let at = from;
  while (block.charCodeAt(at) === space) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= 0x39;
}

const space = 0x20;
const zero = 0x30;
const closingBrace = 0x7d;
