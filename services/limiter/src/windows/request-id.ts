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
  for (let four = 0; four < placesOfFour.length; four++) {
    const digits = ((words[start + (four >> 1)] ?? 0) >>> (four % 2 === 0 ? 16 : 0)) & 0xffff;
    writeFour(digits, placesOfFour[four] ?? 0);
  }
  return written.toString('latin1');
}

const latest = { words: new Uint32Array(wordsOfId), text: '' as string | undefined, hash: 0 };
let latestId = '';

const uuidLength = 36;
const dashPlaces: readonly number[] = [8, 13, 18, 23];
const dash = '-'.charCodeAt(0);
/** Where each four digits of a UUID begin; a word is two times four. */
const placesOfFour: readonly number[] = [0, 4, 9, 14, 19, 24, 28, 32];
const digitCodes = Buffer.from('0123456789abcdef');
/** The values of digits by their codes; of other characters one that is no digit. */
const digitValues = new Uint8Array(128).fill(255);
for (const [value, code] of digitCodes.entries()) digitValues[code] = value;

/** Reads the words of a UUID in small letters. False for anything else: its words would not tell it from a UUID. */
function readUuid(id: string): boolean {
  for (const place of dashPlaces) if (id.charCodeAt(place) !== dash) return false;
  for (let word = 0; word < wordsOfId; word++) {
    const upper = readFour(id, placesOfFour[2 * word] ?? 0);
    const lower = readFour(id, placesOfFour[2 * word + 1] ?? 0);
    if ((upper | lower) < 0) return false;
    latest.words[word] = (upper << 16) | lower;
  }
  return true;
}

/** Negative when one of the four characters is no digit. */
function readFour(id: string, place: number): number {
  const first = valueAt(id, place);
  const second = valueAt(id, place + 1);
  const third = valueAt(id, place + 2);
  const fourth = valueAt(id, place + 3);
  return (first | second | third | fourth) > 15 ? -1 : (first << 12) | (second << 8) | (third << 4) | fourth;
}

function valueAt(id: string, place: number): number {
  return digitValues[id.charCodeAt(place)] ?? 255;
}

/** The UUID that is being written: a text that is put together of parts costs ten times as much. */
const written = Buffer.alloc(uuidLength, '-');

function writeFour(digits: number, place: number): void {
  for (let digit = 0; digit < 4; digit++) {
    written[place + digit] = digitCodes[(digits >>> (12 - 4 * digit)) & 15] ?? 0;
  }
}

function digestText(id: string): void {
  let digest = 0;
  for (let place = 0; place < id.length; place++) digest = Math.imul(digest ^ id.charCodeAt(place), factors[0] ?? 1);
  latest.words.fill(0);
  latest.words[0] = digest;
}

/** Odd, so that no bit of a word is lost, and random, so that no caller can choose ids that all lie in one place. */
const factors = getRandomValues(new Uint32Array(wordsOfId)).map((factor) => factor | 1);
