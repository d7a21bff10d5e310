import { createHmac } from 'node:crypto';

/** What a piece of reasoning is sealed with. */
export interface SealedReasoning {
  /** Whose account may read it. */
  readonly account: string;
  /** Unlike any other reasoning's, so that no two seals are the same. */
  readonly id: string;
  /** What the seal vouches for: the reasoning's text, or what else it can't be sent back without. */
  readonly content: string;
  readonly createdAtSeconds: number;
}

/**
 * Seals reasoning for one account, as providers do that keep none of it themselves. Only digests of the account and of the
 * content go in, and nothing but the seal is needed to verify it: a simulator knows the seals of every other.
 *
 * The bytes are laid out as in a Fernet token, which is where the `gAAAAA` of the provider's own seals comes from.
 *
 * @see https://github.com/fernet/spec/blob/master/Spec.md
 */
export function sealReasoning({ account, id, content, createdAtSeconds }: SealedReasoning): string {
  const head = Buffer.alloc(9);
  head.writeUInt8(fernetVersion);
  head.writeBigUInt64BE(BigInt(createdAtSeconds), 1);
  const nonce = digest('nonce', id).subarray(0, nonceBytes);
  const filling = Array.from({ length: fillingDigests }, (_, index) => digest(`filling ${index}`, id));
  const sealed = Buffer.concat([head, nonce, digest('account', account), digest('content', content), ...filling]);
  return Buffer.concat([sealed, checksum(sealed)]).toString('base64url');
}

/**
 * - `accepted`: the account's own, or no seal of a simulator, which can't be judged.
 * - `other_account`: sealed for somebody else.
 * - `altered`: the content is not the one that was sealed.
 * - `damaged`: begins like a seal, and is none.
 */
export type SealVerdict = 'accepted' | 'other_account' | 'altered' | 'damaged';

/** Judges a seal that comes back from an account; without `content`, whatever it was sealed with. */
export function verifySeal(
  seal: string,
  { account, content }: Pick<SealedReasoning, 'account'> & Partial<Pick<SealedReasoning, 'content'>>,
): SealVerdict {
  if (!seal.startsWith(sealStart)) return 'accepted';
  const bytes = Buffer.from(seal, 'base64url');
  if (!isIntact(seal, bytes)) return 'damaged';
  if (!digestAt(bytes, accountOffset).equals(digest('account', account))) return 'other_account';
  if (content === undefined || digestAt(bytes, contentOffset).equals(digest('content', content))) return 'accepted';
  return 'altered';
}

const sealStart = 'gAAAAA';
const fernetVersion = 0x80;
const nonceBytes = 16;
const digestBytes = 32;
/** Makes a seal a few hundred characters long, and its bytes a multiple of three, so that base64 needs no padding. */
const fillingDigests = 4;
const accountOffset = 9 + nonceBytes;
const contentOffset = accountOffset + digestBytes;
const sealedBytes = contentOffset + digestBytes + fillingDigests * digestBytes;

function isIntact(seal: string, bytes: Buffer): boolean {
  if (bytes.length !== sealedBytes + digestBytes || bytes.toString('base64url') !== seal) return false;
  return digestAt(bytes, sealedBytes).equals(checksum(bytes.subarray(0, sealedBytes)));
}

function digestAt(bytes: Buffer, offset: number): Buffer {
  return bytes.subarray(offset, offset + digestBytes);
}

function checksum(sealed: Buffer): Buffer {
  return digest('checksum', sealed.toString('base64url'));
}

function digest(purpose: string, text: string): Buffer {
  return createHmac('sha256', 'the key of every simulator').update(`${purpose}\n${text}`).digest();
}
