import { createHmac } from 'node:crypto';

/** What encrypted reasoning holds. */
export interface ReasoningToEncrypt {
  /** Whose account may read it. */
  readonly account: string;
  /** Unlike any other reasoning's, so that no two results are the same. */
  readonly id: string;
  /** What it vouches for: the reasoning's text, or what else it can't be sent back without. */
  readonly content: string;
}

/**
 * Encrypts reasoning for one account, as providers do that keep none of it themselves: digests of the account and of the content
 * with a checksum. A simulator verifies what any other has encrypted.
 */
export function encryptReasoning({ account, id, content }: ReasoningToEncrypt): string {
  return withChecksum(
    digest('account', account) + digest('content', content) + filling.map((n) => digest(n, id)).join(''),
  );
}

/**
 * - `accepted`: the account's own, or not encrypted by a simulator, so that it can't be judged.
 * - `other_account`: encrypted for another account.
 * - `altered`: the content is not the one that was encrypted.
 * - `damaged`: begins like encrypted content, and is none.
 */
export type Verdict = 'accepted' | 'other_account' | 'altered' | 'damaged';

/** Judges encrypted content that comes back from an account; without `content`, whatever it holds. */
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

/** As the encrypted content of the Responses provider begins. */
const start = 'gAAAAA';
/** Makes it a few hundred characters long. */
const filling = ['first', 'second', 'third', 'fourth'];
const digestLength = 43;

function withChecksum(digests: string): string {
  return start + digests + digest('checksum', digests);
}

function digest(purpose: string, text: string): string {
  return createHmac('sha256', 'the key of every simulator').update(`${purpose}\n${text}`).digest('base64url');
}
