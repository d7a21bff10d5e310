import { getRandomValues } from 'node:crypto';

/** An id takes so many words of 32 bits. */
export const wordsOfId = 4;

/** An id as it is kept and compared. */
export interface ReadId {
  readonly words: Uint32Array;
  /** Undefined for a UUID, which its words are. Of another id they are only a digest: its text must be compared too. */
  readonly text: string | undefined;
  /** Where to look for it; the upper bits are the better ones. */
  readonly hash: number;
}

/**
 * Reads an id. There is one answer, of what was read last: it is to be used before the next call. Most ids are looked for
 * in several places one after the other, and read once.
 */
export function readId(id: string): ReadId {
  if (id === latestId) return latest;
  latestId = id;
  latest.text = id.length === uuidLength && readUuid(id) ? undefined : id;
  if (latest.text !== undefined) digestText(id);
  latest.hash = hashOf(latest.words, 0);
  return latest;
}

/** The hash of the id whose words begin at `start`. */
export function hashOf(words: Uint32Array, start: number): number {
  let hash = 0;
  for (let word = 0; word < wordsOfId; word++) hash += Math.imul(words[start + word] ?? 0, factors[word] ?? 1);
  return hash | 0;
}

/** The UUID whose words begin at `start`. */
export function uuidOf(words: Uint32Array, start: number): string {
  let hex = '';
  for (const word of words.subarray(start, start + wordsOfId)) hex += word.toString(16).padStart(8, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const latest = { words: new Uint32Array(wordsOfId), text: '' as string | undefined, hash: 0 };
let latestId = '';

const uuidLength = 36;
const dashPlaces: readonly number[] = [8, 13, 18, 23];
const dash = '-'.charCodeAt(0);
/** By their codes the values of `0`–`9` and `a`–`f`, and for the other characters one that is no digit. */
const digitOf = new Uint8Array(128).fill(255);
for (const [value, digit] of [...'0123456789abcdef'].entries()) digitOf[digit.charCodeAt(0)] = value;

/** Reads the words of a UUID in small letters. False for anything else: it could not be told apart by its words. */
function readUuid(id: string): boolean {
  for (const place of dashPlaces) if (id.charCodeAt(place) !== dash) return false;
  let [digits, word, all] = [0, 0, 0];
  for (let place = 0; place < uuidLength; place++) {
    const code = id.charCodeAt(place);
    if (code === dash) continue;
    const digit = digitOf[code] ?? 255;
    all |= digit;
    word = (word << 4) | digit;
    digits += 1;
    if (digits % 8 === 0) latest.words[digits / 8 - 1] = word;
  }
  return digits === 8 * wordsOfId && all < 16;
}

function digestText(id: string): void {
  let digest = 0;
  for (let place = 0; place < id.length; place++) digest = Math.imul(digest ^ id.charCodeAt(place), factors[0] ?? 1);
  latest.words.fill(0);
  latest.words[0] = digest;
}

/** Odd, so that no bit of a word is lost, and random, so that no caller can choose ids that all lie in one place. */
const factors = getRandomValues(new Uint32Array(wordsOfId)).map((factor) => factor | 1);
