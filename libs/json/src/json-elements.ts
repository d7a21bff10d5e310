/** A range of bytes: `[start, end)`. */
export interface JsonRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The ranges of an array's elements, given the array's bytes with its brackets. The text must be well-formed JSON: it is not
 * checked again.
 */
export function jsonElements(array: Buffer): readonly JsonRange[] {
  const elements: JsonRange[] = [];
  let start = skipSpace(array, skipSpace(array, 0) + 1);
  while (start < array.length && array[start] !== closeBracket) {
    const end = endOfValue(array, start);
    elements.push({ start, end });
    const after = skipSpace(array, end);
    start = array[after] === comma ? skipSpace(array, after + 1) : array.length;
  }
  return elements;
}

function endOfValue(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at);
    else if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 0) return trimmedEnd(json, at);
      depth -= 1;
    } else if (byte === comma && depth === 0) return trimmedEnd(json, at);
  }
  return json.length;
}

/** The offset of a string's closing quote. */
function endOfString(json: Buffer, openingQuote: number): number {
  for (let at = openingQuote + 1; at < json.length; at += 1) {
    if (json[at] === backslash) at += 1;
    else if (json[at] === quote) return at;
  }
  return json.length;
}

function trimmedEnd(json: Buffer, end: number): number {
  let at = end;
  while (isSpace(json[at - 1])) at -= 1;
  return at;
}

function skipSpace(json: Buffer, from: number): number {
  let at = from;
  while (isSpace(json[at])) at += 1;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
