import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { AccountKey } from './credential-config.ts';

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

const algorithm = 'aes-256-gcm';
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
