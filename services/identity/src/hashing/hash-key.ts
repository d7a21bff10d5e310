import { createHash, createHmac } from 'node:crypto';

/** A secret that token hashes are made with. It lives outside the database, so that a leaked table is of no use. */
export interface HashKey {
  /** Stored beside each hash; derived from the secret, so that it can't be mixed up. */
  readonly id: string;
  readonly secret: Buffer;
}

const minHashKeyBytes = 32;

/** @throws RangeError for a secret of less than 32 bytes. */
export function hashKeyOf(secret: Buffer): HashKey {
  if (secret.length < minHashKeyBytes) throw new RangeError(`A hash key has at least ${minHashKeyBytes} bytes.`);
  return { id: createHash('sha256').update('gateway hash key id').update(secret).digest('hex').slice(0, 12), secret };
}

/** Keys written as hex or base64 with commas between them, current one first; undefined when one of them is neither or too short. */
export function parseHashKeys(text: string): readonly HashKey[] | undefined {
  const parts = text.split(',').map((part) => part.trim());
  const secrets = parts.filter((part) => part !== '').map(toBytes);
  return secrets.some((secret) => secret.length < minHashKeyBytes) ? undefined : secrets.map(hashKeyOf);
}

/** The bytes of a text in hex or base64; none when it is neither. */
function toBytes(text: string): Buffer {
  if (/^([0-9a-f]{2})+$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[0-9a-z+/_-]+={0,2}$/i.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
}

/** A token's digest under one key, as stored. */
export interface TokenHash {
  readonly keyId: string;
  /** Lower-case hex of HMAC-SHA-256(key, SHA-256(text)). */
  readonly hash: string;
}

/** Tokens are 178 random bits, so a slow hash would protect nothing. */
export function hashWith({ id, secret }: HashKey, tokenSha256: Uint8Array): TokenHash {
  return { keyId: id, hash: createHmac('sha256', secret).update(tokenSha256).digest('hex') };
}
