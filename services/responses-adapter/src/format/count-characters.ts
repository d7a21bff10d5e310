/**
 * Characters of a string member that stands from `start` on, found and measured without parsing; 0 when there is none of
 * that key.
 * @param json UTF-8 as a text with one character per byte
 * @param quotedKey the key with its quotes
 */
export function countCharacters(json: string, quotedKey: string, start = 0): number {
  const keyAt = json.indexOf(quotedKey, start);
  if (keyAt < 0) return 0;
  let at = keyAt + quotedKey.length;
  while (json.charCodeAt(at) === space || json.charCodeAt(at) === colon) at += 1;
  return json.charCodeAt(at) === quote ? stringLength(json, at + 1) : 0;
}

/** An escape counts as one character, as does a character of several bytes. */
function stringLength(json: string, start: number): number {
  let length = 0;
  for (let at = start; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === quote) break;
    if (code === backslash) at += json.charCodeAt(at + 1) === letterU ? 5 : 1;
    else if ((code & 0xc0) === 0x80) continue;
    length += 1;
  }
  return length;
}

const space = 0x20;
const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const letterU = 0x75;
