/**
 * Characters of a string member, found and measured without parsing; 0 when there is none of that key.
 * @param quotedKey the key's bytes with its quotes
 */
export function countCharacters(json: Buffer, quotedKey: Buffer): number {
  const keyAt = json.indexOf(quotedKey);
  if (keyAt < 0) return 0;
  let at = keyAt + quotedKey.length;
  while (json[at] === space || json[at] === colon) at += 1;
  return json[at] === quote ? stringLength(json, at + 1) : 0;
}

/** An escape counts as one character, as does a character of several bytes. */
function stringLength(json: Buffer, start: number): number {
  let length = 0;
  for (let at = start; at < json.length && json[at] !== quote; at += 1) {
    if (json[at] === backslash) at += json[at + 1] === letterU ? 5 : 1;
    else if (((json[at] ?? 0) & 0xc0) === 0x80) continue;
    length += 1;
  }
  return length;
}

const space = 0x20;
const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const letterU = 0x75;
