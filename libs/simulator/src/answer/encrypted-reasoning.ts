import { createHmac } from 'node:crypto';

/** What encrypted reasoning holds. */
export interface ReasoningToEncrypt {
  /** Whose account may read it. */
  readonly account: string;
  /** Unlike any other reasoning's, so that no two results are the same. */
  readonly id: string;
  /** What it vouches for: the reasoning's text, or what else it can't be sent back without. */
  readonly content: string;
  readonly createdAtSeconds: number;
}

/**
 * Encrypts reasoning for one account, as providers do that keep none of it themselves. Only digests of the account and of the
 * content go in, and nothing else is needed to verify it: a simulator verifies what any other has encrypted.
 *
 * The bytes are laid out as in a Fernet token, which is where the `gAAAAA` of the provider's own comes from.
 *
 * @see https://github.com/fernet/spec/blob/master/Spec.md
 */
export function encryptReasoning({ account, id, content, createdAtSeconds }: ReasoningToEncrypt): string {
  const head = Buffer.alloc(9);
  head.writeUInt8(fernetVersion);
  head.writeBigUInt64BE(BigInt(createdAtSeconds), 1);
  const nonce = digest('nonce', id).subarray(0, nonceBytes);
  const filling = Array.from({ length: fillingDigests }, (_, index) => digest(`filling ${index}`, id));
  const signed = Buffer.concat([head, nonce, digest('account', account), digest('content', content), ...filling]);
  return Buffer.concat([signed, checksum(signed)]).toString('base64url');
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
  { account, content }: Pick<ReasoningToEncrypt, 'account'> & Partial<Pick<ReasoningToEncrypt, 'content'>>,
): Verdict {
  if (!encrypted.startsWith(encryptedStart)) return 'accepted';
  const bytes = Buffer.from(encrypted, 'base64url');
  if (!isIntact(encrypted, bytes)) return 'damaged';
  if (!digestAt(bytes, accountOffset).equals(digest('account', account))) return 'other_account';
  if (content === undefined || digestAt(bytes, contentOffset).equals(digest('content', content))) return 'accepted';
  return 'altered';
}

const encryptedStart = 'gAAAAA';
const fernetVersion = 0x80;
const nonceBytes = 16;
const digestBytes = 32;
/** Makes it a few hundred characters long, and its bytes a multiple of three, so that base64 needs no padding. */
const fillingDigests = 4;
const accountOffset = 9 + nonceBytes;
const contentOffset = accountOffset + digestBytes;
const signedBytes = contentOffset + digestBytes + fillingDigests * digestBytes;

function isIntact(encrypted: string, bytes: Buffer): boolean {
  if (bytes.length !== signedBytes + digestBytes || bytes.toString('base64url') !== encrypted) return false;
  return digestAt(bytes, signedBytes).equals(checksum(bytes.subarray(0, signedBytes)));
}

function digestAt(bytes: Buffer, offset: number): Buffer {
  return bytes.subarray(offset, offset + digestBytes);
}

function checksum(signed: Buffer): Buffer {
  return digest('checksum', signed.toString('base64url'));
}

function digest(purpose: string, text: string): Buffer {
  return createHmac('sha256', 'the key of every simulator').update(`${purpose}\n${text}`).digest();
}
