import { hash } from 'node:crypto';
import { BufferList, JsonScanner } from '@gateway/json';

/**
 * The member of a Responses item, or of a Messages thinking block, that contains encrypted
 * reasoning. A client sends it back unchanged in the next request.
 */
export type ReasoningMember = 'encrypted_content' | 'signature';

/**
 * The digest of the last encrypted reasoning in a JSON text, at any depth; undefined when there is
 * none or the text is not JSON. Other text under the same name may be mistaken for it, so the
 * digest is good for a lookup only.
 */
export function lastReasoningIn(json: Buffer, member: ReasoningMember): string | undefined {
  const scanner = new JsonScanner({ trackedKey: member, maxDepth: 1_024, maxTokens: Number.POSITIVE_INFINITY });
  try {
    scanner.push(json);
    scanner.end();
  } catch {
    return undefined;
  }
  return lastReasoningAfter(new BufferList([json]), scanner.trackedKeyEnds);
}

/**
 * The same for a text that was already scanned: `keyEnds` are the offsets at which the member's
 * keys end, in order.
 */
export function lastReasoningAfter(json: BufferList, keyEnds: readonly number[]): string | undefined {
  for (const keyEnd of keyEnds.toReversed()) {
    const reasoning = reasoningAt(json, keyEnd);
    if (reasoning !== undefined) return reasoningDigest(reasoning);
  }
  return undefined;
}

/** Identifies encrypted reasoning throughout the gateway: SHA-256 of its text, base64url. */
export function reasoningDigest(reasoning: string | Buffer): string {
  return hash('sha256', reasoning, 'base64url');
}

/**
 * The string after a key if it can be encrypted reasoning: base64 of a minimum length, without
 * escapes.
 */
function reasoningAt(json: BufferList, afterKey: number): Buffer | undefined {
  const colonAt = skipSpace(json, afterKey);
  const quoteAt = skipSpace(json, colonAt + 1);
  if (json.at(colonAt) !== colon || json.at(quoteAt) !== quote) return undefined;
  const end = json.indexOf(quote, quoteAt + 1);
  if (end - quoteAt <= minReasoningBytes) return undefined;
  const reasoning = json.slice(quoteAt + 1, end);
  return reasoning.includes(backslash) ? undefined : reasoning;
}

const minReasoningBytes = 32;

function skipSpace(json: BufferList, from: number): number {
  let at = from;
  while (spaces.includes(json.at(at))) at += 1;
  return at;
}

const spaces: readonly (number | undefined)[] = [0x20, 0x0a, 0x0d, 0x09];
const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
