import { hash } from 'node:crypto';
import { PiecedBytes } from '@gateway/json';

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
  const key = keys[member];
  // Most answers hold none.
  if (!json.includes(rareParts[member])) return undefined;
  const text = new PiecedBytes([json]);
  let at = json.lastIndexOf(key);
  for (let looks = 0; at >= 0 && looks < maxLooks; looks++) {
    const seal = sealAt(text, at + key.length);
    if (seal !== undefined) return digestOfSeal(seal);
    at = at === 0 ? -1 : json.lastIndexOf(key, at - 1);
  }
  return undefined;
}

/** The same of a text in which the ends of the member's keys are known, in their order. */
export function lastSealBehind(json: PiecedBytes, keyEnds: readonly number[]): string | undefined {
  for (let index = keyEnds.length - 1; index >= 0; index--) {
    const seal = sealAt(json, keyEnds[index] ?? 0);
    if (seal !== undefined) return digestOfSeal(seal);
  }
  return undefined;
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

/** The text that follows a key, when it is a seal: base64 of some length, which needs no escapes. */
function sealAt(json: PiecedBytes, afterKey: number): Buffer | undefined {
  const colonAt = skipSpace(json, afterKey);
  const quoteAt = skipSpace(json, colonAt + 1);
  if (json.at(colonAt) !== colon || json.at(quoteAt) !== quote) return undefined;
  const end = json.indexOf(quote, quoteAt + 1);
  if (end - quoteAt <= minSealBytes) return undefined;
  const seal = json.slice(quoteAt + 1, end);
  return seal.includes(backslash) ? undefined : seal;
}

const minSealBytes = 32;

function skipSpace(json: PiecedBytes, from: number): number {
  let at = from;
  for (let byte = json.at(at); byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = json.at(at))
    at += 1;
  return at;
}

const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
