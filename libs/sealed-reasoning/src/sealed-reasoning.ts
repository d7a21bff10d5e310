import { hash } from 'node:crypto';
import { JsonSkimmer, PiecedBytes } from '@gateway/json';

/**
 * The member that holds encrypted reasoning: of a Responses item, or of a Messages thinking block. A client sends it back in
 * the next request, unread.
 */
export type SealMember = 'encrypted_content' | 'signature';

/**
 * The digest of the last encrypted reasoning in a JSON text, at any depth; undefined when there is none, or no JSON. A text of
 * another meaning under the same name may be taken for it, so the digest is good for a lookup, no more.
 */
export function lastSealedReasoning(json: Buffer, member: SealMember): string | undefined {
  const scanner = new JsonSkimmer({ notedKey: member, maxDepth: 1_024, maxTokens: Number.POSITIVE_INFINITY });
  try {
    scanner.push(json);
    scanner.end();
  } catch {
    return undefined;
  }
  return lastSealBehind(new PiecedBytes([json]), scanner.notedKeyEnds);
}

/** The same of a text that was scanned already: `keyEnds` are the offsets at which the member's keys end, in order. */
export function lastSealBehind(json: PiecedBytes, keyEnds: readonly number[]): string | undefined {
  for (const keyEnd of keyEnds.toReversed()) {
    const reasoning = reasoningAt(json, keyEnd);
    if (reasoning !== undefined) return digestOfSeal(reasoning);
  }
  return undefined;
}

/** Names one encrypted reasoning for all parts of the gateway: SHA-256 of its text, base64url. */
export function digestOfSeal(reasoning: string | Buffer): string {
  return hash('sha256', reasoning, 'base64url');
}

/** The text that follows a key, when it can be encrypted reasoning: base64 of some length, which needs no escapes. */
function reasoningAt(json: PiecedBytes, afterKey: number): Buffer | undefined {
  const colonAt = skipSpace(json, afterKey);
  const quoteAt = skipSpace(json, colonAt + 1);
  if (json.at(colonAt) !== colon || json.at(quoteAt) !== quote) return undefined;
  const end = json.indexOf(quote, quoteAt + 1);
  if (end - quoteAt <= minReasoningBytes) return undefined;
  const reasoning = json.slice(quoteAt + 1, end);
  return reasoning.includes(backslash) ? undefined : reasoning;
}

const minReasoningBytes = 32;

function skipSpace(json: PiecedBytes, from: number): number {
  let at = from;
  while (spaces.includes(json.at(at))) at += 1;
  return at;
}

const spaces: readonly (number | undefined)[] = [0x20, 0x0a, 0x0d, 0x09];
const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
