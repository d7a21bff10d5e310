import { createHmac } from 'node:crypto';

/** The content of encrypted reasoning. */
export interface ReasoningToEncrypt {
  /** The account that may read it. */
  readonly account: string;
  /** Unique, so that no two results are equal. */
  readonly id: string;
  /**
   * What the encryption protects: the reasoning's text, or whatever else must be sent back with it.
   */
  readonly content: string;
}

/**
 * Encrypts reasoning for one account, like providers that do not store reasoning: digests of the
 * account and the content, with a checksum. Every simulator can verify what another one encrypted.
 */
export function encryptReasoning({ account, id, content }: ReasoningToEncrypt): string {
  return withChecksum(
    digest('account', account) + digest('content', content) + filling.map((n) => digest(n, id)).join(''),
  );
}

/**
 * - `accepted`: the account's own, or not encrypted by a simulator and so not verifiable.
 * - `other_account`: encrypted for another account.
 * - `altered`: the content differs from what was encrypted.
 * - `damaged`: starts like encrypted content but is not valid.
 */
export type Verdict = 'accepted' | 'other_account' | 'altered' | 'damaged';

/**
 * Verifies encrypted content that an account receives back; without `content`, whatever it
 * contains.
 */
export function verifyEncrypted(
  encrypted: string,
  { account, content }: { readonly account: string; readonly content?: string },
): Verdict {
  if (!encrypted.startsWith(start)) return 'accepted';
  const digests = encrypted.slice(start.length, -digestLength);
  if (withChecksum(digests) !== encrypted) return 'damaged';
  if (!digests.startsWith(digest('account', account))) return 'other_account';
  return content === undefined || digests.startsWith(digest('content', content), digestLength) ? 'accepted' : 'altered';
}

/** How the Responses provider's encrypted content starts. */
const start = 'gAAAAA';
/** Extends it to a few hundred characters. */
const filling = ['first', 'second', 'third', 'fourth'];
const digestLength = 43;

function withChecksum(digests: string): string {
  return start + digests + digest('checksum', digests);
}

function digest(purpose: string, text: string): string {
  return createHmac('sha256', 'the key of every simulator').update(`${purpose}\n${text}`).digest('base64url');
}
