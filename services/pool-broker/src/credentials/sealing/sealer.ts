import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { AccountKey } from './account-key.ts';

/** What a sealed text belongs to. It opens nowhere else. */
export interface SealedPlace {
  readonly accountId: string;
  readonly field: 'credential' | 'tokens';
}

/** A text that only who has the key can read or make. */
export interface Sealed {
  readonly keyId: string;
  readonly text: string;
}

export type Opened =
  | { readonly kind: 'opened'; readonly text: string }
  /** `unknown_key`: sealed with a key that is not here. `damaged`: changed since, or it belongs to another place. */
  | { readonly kind: 'refused'; readonly reason: 'unknown_key' | 'damaged' };

/** Seals texts with the first of its keys, and opens those of any. AES-256-GCM with a nonce of its own for each. */
export class Sealer {
  readonly #current: AccountKey;
  readonly #keys: ReadonlyMap<string, AccountKey>;

  /** @throws RangeError without a key. */
  constructor(keys: readonly AccountKey[]) {
    const [current] = keys;
    if (current === undefined) throw new RangeError('Sealing takes a key.');
    this.#current = current;
    this.#keys = new Map(keys.map((key) => [key.id, key]));
  }

  get currentKeyId(): string {
    return this.#current.id;
  }

  seal(place: SealedPlace, text: string): Sealed {
    const { id, key } = this.#current;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(associatedData(place, id));
    const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return { keyId: id, text: formatPrefix + Buffer.concat(parts).toString('base64url') };
  }

  open(place: SealedPlace, { keyId, text }: Sealed): Opened {
    const key = this.#keys.get(keyId);
    if (key === undefined) return { kind: 'refused', reason: 'unknown_key' };
    try {
      return { kind: 'opened', text: decrypt(key, place, text) };
    } catch {
      return { kind: 'refused', reason: 'damaged' };
    }
  }
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const formatPrefix = 'v1.';

/** @throws Error for anything that was not sealed for this place with this key. */
function decrypt({ id, key }: AccountKey, place: SealedPlace, text: string): string {
  if (!text.startsWith(formatPrefix)) throw new Error('It is of another format.');
  const encoded = text.slice(formatPrefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Decoding skips what is no base64; a sealed text has one spelling only.
  if (bytes.toString('base64url') !== encoded) throw new Error('It is not well encoded.');
  const tagStart = bytes.length - tagBytes;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(associatedData(place, id));
  decipher.setAuthTag(bytes.subarray(tagStart));
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, tagStart)), decipher.final()]).toString('utf8');
}

/** JSON keeps the parts apart whatever is in them. */
function associatedData({ accountId, field }: SealedPlace, keyId: string): Buffer {
  return Buffer.from(JSON.stringify(['gateway account', accountId, field, keyId]));
}
