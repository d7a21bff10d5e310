import { hash } from 'node:crypto';
import { BufferList, type ByteRange, JsonScanner, type TrackedStringOptions } from '@gateway/json';

/**
 * The member of a Responses item, or of a Messages thinking block, that contains encrypted
 * reasoning. A client sends it back unchanged in the next request.
 */
export type ReasoningMember = 'encrypted_content' | 'signature';

/**
 * What can be encrypted reasoning in a JSON text: base64 of a minimum length, without escapes.
 * Other text under the same name may be mistaken for it, so its digest is good for a lookup only.
 */
export function reasoningStrings(member: ReasoningMember): TrackedStringOptions {
  return { key: member, minBytes: 32, maxBytes: maxReasoningBytes };
}

/** A digest of this much takes about a millisecond. */
const maxReasoningBytes = 1024 * 1024;

/**
 * The digest of the last encrypted reasoning in a JSON text, at any depth; undefined when there is
 * none or the text is not JSON.
 */
export function lastReasoningIn(json: Buffer, member: ReasoningMember): string | undefined {
  const tracked = reasoningStrings(member);
  const scanner = new JsonScanner({ tracked, maxDepth: 1_024, maxTokens: Number.POSITIVE_INFINITY });
  try {
    scanner.push(json);
    scanner.end();
  } catch {
    return undefined;
  }
  return reasoningAt(new BufferList([json]), scanner.trackedString);
}

/** The same for a text that was already scanned for `reasoningStrings`. */
export function reasoningAt(json: BufferList, found: ByteRange | undefined): string | undefined {
  return found && reasoningDigest(json.slice(found.start, found.end));
}

/**
 * Identifies encrypted reasoning throughout the gateway: SHA-256 of its text, base64url. Undefined
 * for a text that is too long to be found again.
 */
export function reasoningDigest(reasoning: string | Buffer): string | undefined {
  return reasoning.length > maxReasoningBytes ? undefined : hash('sha256', reasoning, 'base64url');
}
