import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** A key that credentials are encrypted with. It lives apart from the database, so that a leaked table is of no use. */
export interface AccountKey {
  /** Stored beside everything that it encrypted. */
  readonly id: string;
  readonly key: KeyObject;
}

/** What an envelope belongs to. It can be decrypted for nothing else. */
export interface EnvelopePlace {
  readonly accountId: string;
  readonly field: 'credential' | 'tokens';
}

/** An encrypted text, and which key encrypted it. */
export interface Envelope {
  readonly keyId: string;
  readonly text: string;
}

export type Decrypted =
  | { readonly kind: 'decrypted'; readonly text: string }
  /** `unknown_key`: encrypted with a key that is not here. `damaged`: changed since, or it belongs to another place. */
  | { readonly kind: 'refused'; readonly reason: 'unknown_key' | 'damaged' };

/** Encrypts with the first of its keys, decrypts with any of them. AES-256-GCM with a nonce of its own for each text. */
export class Encryption {
  readonly #current: AccountKey;
  readonly #keys: ReadonlyMap<string, AccountKey>;

  /** @throws RangeError without a key. */
  constructor(keys: readonly AccountKey[]) {
    const [current] = keys;
    if (current === undefined) throw new RangeError('Encryption takes a key.');
    this.#current = current;
    this.#keys = new Map(keys.map((key) => [key.id, key]));
  }

  get currentKeyId(): string {
    return this.#current.id;
  }

  encrypt(place: EnvelopePlace, text: string): Envelope {
    const { id, key } = this.#current;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(associatedData(place, id));
    const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return { keyId: id, text: formatPrefix + Buffer.concat(parts).toString('base64url') };
  }

  decrypt(place: EnvelopePlace, { keyId, text }: Envelope): Decrypted {
    const key = this.#keys.get(keyId);
    if (key === undefined) return { kind: 'refused', reason: 'unknown_key' };
    try {
      return { kind: 'decrypted', text: decryptWith(key, place, text) };
    } catch {
      return { kind: 'refused', reason: 'damaged' };
    }
  }
}

/**
 * Keys written `id:base64` (or hex) with commas or line ends between them, the one for new credentials first; undefined when
 * one of them is not 32 bytes or an id comes twice.
 */
export function parseAccountKeys(text: string): readonly AccountKey[] | undefined {
  const parts = text.split(/[,\n]/).map((part) => part.trim());
  const keys = parts.filter((part) => part !== '').map(toAccountKey);
  const known = keys.filter((key) => key !== undefined);
  const isGood = known.length === keys.length && new Set(known.map(({ id }) => id)).size === keys.length;
  return isGood ? known : undefined;
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const formatPrefix = 'v1.';

/** @throws Error for anything that was not encrypted for this place with this key. */
function decryptWith({ id, key }: AccountKey, place: EnvelopePlace, text: string): string {
  if (!text.startsWith(formatPrefix)) throw new Error('It is of another format.');
  const encoded = text.slice(formatPrefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Decoding skips what is no base64, but an envelope has one spelling only.
  if (bytes.toString('base64url') !== encoded) throw new Error('It is not well encoded.');
  const tagStart = bytes.length - tagBytes;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(associatedData(place, id));
  decipher.setAuthTag(bytes.subarray(tagStart));
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, tagStart)), decipher.final()]).toString('utf8');
}

/** JSON keeps the parts apart whatever is in them. */
function associatedData({ accountId, field }: EnvelopePlace, keyId: string): Buffer {
  return Buffer.from(JSON.stringify(['gateway account', accountId, field, keyId]));
}

function toAccountKey(part: string): AccountKey | undefined {
  const [, id, secret] = /^([A-Za-z0-9_-]{1,32}):(\S+)$/.exec(part) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const bytes = Buffer.from(secret, /^[0-9a-f]{64}$/i.test(secret) ? 'hex' : 'base64');
  const isEncoded = /^[0-9a-z+/_-]+={0,2}$/i.test(secret);
  return isEncoded && bytes.length === keyBytes ? { id, key: createSecretKey(bytes) } : undefined;
}
