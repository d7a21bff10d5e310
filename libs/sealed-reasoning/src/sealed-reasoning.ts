import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * The member that holds sealed reasoning: of a Responses item, or of a Messages thinking block. A client sends it back in
 * the next turn, unread.
 */
export type SealMember = 'encrypted_content' | 'signature';

/**
 * The digest of the last seal in a JSON text, wherever in it; undefined when there is none. Looks at bytes only: a text
 * of another meaning under the same name may be taken for a seal, so that the digest is good for a lookup, no more.
 */
export function lastSealedReasoning(json: Buffer, member: SealMember): string | undefined {
  // Most answers hold none, and are short: then there is nothing to take in stretches.
  if (json.length <= stretchBytes && !json.includes(rareParts[member])) return undefined;
  const search = searchBackwards(json, member);
  let step = search.next();
  while (!step.done) step = search.next();
  return step.value;
}

/** The same of a text that may be very long: searched in turns of the event loop. */
export async function lastSealedReasoningInTurns(json: Buffer, member: SealMember): Promise<string | undefined> {
  const search = searchBackwards(json, member);
  let step = search.next();
  while (!step.done) {
    await nextTurn();
    step = search.next();
  }
  return step.value;
}

/** A seal by which two places of a program can speak of the same one: SHA-256 of its text, base64url. */
export function digestOfSeal(seal: string | Buffer): string {
  return hash('sha256', seal, 'base64url');
}

/** With their quotes: in a text within the JSON they would be escaped. */
const keys: Readonly<Record<SealMember, Buffer>> = {
  encrypted_content: Buffer.from('"encrypted_content"'),
  signature: Buffer.from('"signature"'),
};

/**
 * Parts of the keys that are found missing in a third of the time: they begin with a letter that is rare in texts, where every key
 * begins with a quote, and are so short that no tables are made to search for them.
 */
const rareParts: Readonly<Record<SealMember, Buffer>> = {
  encrypted_content: Buffer.from('_cont'),
  signature: Buffer.from('gnatur'),
};

/** A body that names a seal this often without having one is not worth the time. */
const maxLooks = 100;

/** Yields after each stretch of the text, from its end on. */
function* searchBackwards(json: Buffer, member: SealMember): Generator<undefined, string | undefined> {
  const key = keys[member];
  let looks = 0;
  for (let end = json.length; end > 0; end -= stretchBytes) {
    // A key that begins in this stretch may end in the one behind it.
    const start = Math.max(0, end - stretchBytes);
    const stretch = json.subarray(start, end + key.length - 1);
    for (let at = stretch.lastIndexOf(key); at >= 0; at = at === 0 ? -1 : stretch.lastIndexOf(key, at - 1)) {
      const seal = sealAt(json, start + at + key.length);
      if (seal !== undefined) return digestOfSeal(seal);
      looks += 1;
      if (looks === maxLooks) return undefined;
    }
    if (start > 0) yield;
  }
  return undefined;
}

/** Searched in half a millisecond. */
const stretchBytes = 1024 * 1024;

/** The text that follows a key, when it is a seal: base64 of some length, which needs no escapes. */
function sealAt(json: Buffer, afterKey: number): Buffer | undefined {
  const colonAt = skipSpace(json, afterKey);
  const quoteAt = skipSpace(json, colonAt + 1);
  if (json[colonAt] !== colon || json[quoteAt] !== quote) return undefined;
  const end = json.indexOf(quote, quoteAt + 1);
  const seal = json.subarray(quoteAt + 1, end);
  return end < 0 || seal.length < minSealBytes || seal.includes(backslash) ? undefined : seal;
}

const minSealBytes = 32;

function skipSpace(json: Buffer, from: number): number {
  let at = from;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at += 1;
  return at;
}

const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
