import { createSecretKey, type KeyObject } from 'node:crypto';

/** A key that credentials are sealed with. It lives apart from the database, so that a leaked table is of no use. */
export interface AccountKey {
  /** Stored beside everything that it sealed. */
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * Keys written `id:base64` (or hex) with commas or line ends between them, the one for new credentials first; undefined when
 * one of them is not 32 bytes or an id comes twice.
 */
export function parseAccountKeys(text: string): readonly AccountKey[] | undefined {
  const keys = text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(toAccountKey);
  const known = keys.filter((key) => key !== undefined);
  const isGood = known.length === keys.length && new Set(known.map(({ id }) => id)).size === keys.length;
  return isGood ? known : undefined;
}

function toAccountKey(part: string): AccountKey | undefined {
  const [, id, secret] = /^([A-Za-z0-9_-]{1,32}):(\S+)$/.exec(part) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const bytes = /^[0-9a-f]{64}$/i.test(secret) ? Buffer.from(secret, 'hex') : fromBase64(secret);
  return bytes.length === keyBytes ? { id, key: createSecretKey(bytes) } : undefined;
}

// AES-256.
const keyBytes = 32;

function fromBase64(text: string): Buffer {
  return /^[0-9a-z+/_-]+={0,2}$/i.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
}
