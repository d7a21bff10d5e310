import { standsAt } from '@gateway/json';

/**
 * How much text an event brings, `[start, end)` of a text with one character per byte, in bytes, if it is a delta written
 * as providers write them: nearly all of a stream is. Undefined for everything else, which is to be parsed.
 */
export function charactersOfPlainDelta(text: string, start: number, end: number): number | undefined {
  if (!standsAt(text, start, deltaStart)) return undefined;
  let at = start + deltaStart.length;
  while (isDigit(text.charCodeAt(at))) at += 1;
  const opening = deltaOpenings.find((each) => standsAt(text, at, each));
  if (opening === undefined) return undefined;
  const pieceStart = at + opening.length;
  const pieceEnd = endOfPiece(text, start, end);
  return pieceEnd < pieceStart || text.indexOf('\n', pieceStart) < pieceEnd ? undefined : pieceEnd - pieceStart;
}

const deltaStart = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';
const deltaOpenings: readonly string[] = [
  ',"delta":{"type":"text_delta","text":"',
  ',"delta":{"type":"input_json_delta","partial_json":"',
  ',"delta":{"type":"thinking_delta","thinking":"',
];

/** Where the quote stands behind which only two closing braces and space are left; -1 when that is not certain. */
function endOfPiece(text: string, start: number, end: number): number {
  let braces = 0;
  for (let at = end - 1; at >= start; at -= 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return braces === 2 && text.charCodeAt(at - 1) !== backslash ? at : -1;
    if (code === closeBrace) braces += 1;
    else if (code !== space && code !== lineFeed) return -1;
  }
  return -1;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

const lineFeed = 0x0a;
const space = 0x20;
const quote = 0x22;
const backslash = 0x5c;
const closeBrace = 0x7d;
