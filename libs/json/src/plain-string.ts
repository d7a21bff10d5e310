/** A string as it stands in a JSON text. */
export interface PlainString {
  /** What it says. */
  readonly value: string;
  /** How it is written, with its quotes: as JSON.stringify would write it. */
  readonly json: string;
  /** Where it ends in the text, behind its closing quote. */
  readonly end: number;
}

/**
 * The string that begins with the quote at `start`, when it is written exactly as JSON.stringify writes it: then it can go
 * into another JSON text as it is. Undefined for any other, to be read by JSON.parse; most providers write no such ones.
 * @param text decoded from UTF-8, so that no half of a surrogate pair stands in it
 */
export function readPlainString(text: string, start: number): PlainString | undefined {
  const end = endOfPlainString(text, start);
  if (end < 0) return undefined;
  const json = text.slice(start, end);
  return { value: json.includes('\\') ? JSON.parse(json) : json.slice(1, -1), json, end };
}

/** Where such a string ends, behind its closing quote; -1 for any other. */
export function endOfPlainString(text: string, start: number): number {
  if (text.charCodeAt(start) !== quote) return -1;
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code < 0x20) return -1;
    if (code === backslash) {
      at += 1;
      if (!isShortEscape(text.charCodeAt(at))) return -1;
    }
  }
  return -1;
}

/** `"`, `\`, b, f, n, r and t. JSON.stringify writes no slash so, and four digits only where it must. */
function isShortEscape(code: number): boolean {
  switch (code) {
    case quote:
    case backslash:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

const quote = 0x22;
const backslash = 0x5c;
