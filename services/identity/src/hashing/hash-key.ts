import { createHash, createHmac } from 'node:crypto';

/**
 * A secret key for token hashes. It is kept outside the database, so that a leaked table is
 * useless.
 */
export interface HashKey {
  /** Stored with each hash. It is derived from the secret, so that keys can't be confused. */
  readonly id: string;
  readonly secret: Buffer;
}

const minHashKeyBytes = 32;

/** @throws RangeError for a secret shorter than 32 bytes. */
export function hashKeyOf(secret: Buffer): HashKey {
  if (secret.length < minHashKeyBytes) throw new RangeError(`A hash key has at least ${minHashKeyBytes} bytes.`);
  return { id: createHash('sha256').update('gateway hash key id').update(secret).digest('hex').slice(0, 12), secret };
}

/**
 * Parses keys in hex or base64, separated by commas, the current one first; undefined when one of
 * them is neither or too short.
 */
export function parseHashKeys(text: string): readonly HashKey[] | undefined {
  const parts = text.split(',').map((part) => part.trim());
  const secrets = parts.filter((part) => part !== '').map(toBytes);
  return secrets.some((secret) => secret.length < minHashKeyBytes) ? undefined : secrets.map(hashKeyOf);
}

/** The bytes of a text in hex or base64; empty when it is neither. */
function toBytes(text: string): Buffer {
  if (/^([0-9a-f]{2})+$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[0-9a-z+/_-]+={0,2}$/i.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
}

/** The stored form of a token's digest, hashed with one key. */
export interface TokenHash {
  readonly keyId: string;
  /** Lower-case hex of HMAC-SHA-256(key, SHA-256(text)). */
  readonly hash: string;
}

/** Tokens have 178 random bits, so a slow hash would add no protection. */
export function hashWith({ id, secret }: HashKey, tokenSha256: Uint8Array): TokenHash {
  return { keyId: id, hash: createHmac('sha256', secret).update(tokenSha256).digest('hex') };
}
