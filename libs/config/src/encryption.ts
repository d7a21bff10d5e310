import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { randomBytes } from '@gateway/time';
import { z } from 'zod';
import { Secret } from './secret.ts';

/**
 * A key that encrypts what the database keeps. It is kept outside the database, so that a leaked
 * table is useless.
 */
export interface EncryptionKey {
  /** Stored with everything that the key encrypted. */
  readonly id: string;
  readonly key: KeyObject;
}

export interface Envelope {
  readonly keyId: string;
  readonly text: string;
}

/**
 * `unknown_key`: encrypted with a key that is not available. `damaged`: changed, or moved from
 * another place.
 */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
  readonly reason: 'unknown_key' | 'damaged';

  constructor(reason: 'unknown_key' | 'damaged') {
    super(`The stored secret cannot be decrypted: ${reason}.`);
    this.reason = reason;
  }
}

/**
 * Encrypts with the first of its keys and decrypts with any of them. It uses AES-256-GCM with a
 * fresh nonce for each value. An envelope can't be decrypted for another place than its own.
 */
export class EnvelopeEncryption<Place> {
  readonly #current: EncryptionKey;
  readonly #keys: ReadonlyMap<string, EncryptionKey>;
  readonly #partsOf: (place: Place) => readonly string[];

  /**
   * @param partsOf texts that no other place has
   * @throws RangeError if there is no key.
   */
  constructor(keys: readonly EncryptionKey[], partsOf: (place: Place) => readonly string[]) {
    const [current] = keys;
    if (current === undefined) throw new RangeError('Encryption needs a key.');
    this.#partsOf = partsOf;
    this.#current = current;
    this.#keys = new Map(keys.map((key) => [key.id, key]));
  }

  get currentKeyId(): string {
    return this.#current.id;
  }

  encrypt(place: Place, value: unknown): Envelope {
    const { id, key } = this.#current;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(associatedData(this.#partsOf(place), id));
    const parts = [nonce, cipher.update(revealedJson(value), 'utf8'), cipher.final(), cipher.getAuthTag()];
    return { keyId: id, text: formatPrefix + Buffer.concat(parts).toString('base64url') };
  }

  /** @throws DecryptionError */
  decrypt<T>(place: Place, { keyId, text }: Envelope, schema: z.ZodType<T>): T {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new DecryptionError('unknown_key');
    try {
      return schema.parse(JSON.parse(decryptWith(key, this.#partsOf(place), text)));
    } catch {
      throw new DecryptionError('damaged');
    }
  }
}

/** JSON with every secret in plain text: use it only to encrypt or hash. */
export function revealedJson(value: unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, shown: unknown) {
    // `shown` is the result of the secret's own toJSON.
    const member = this[key];
    return member instanceof Secret ? member.reveal() : shown;
  });
}

/** A string that becomes a secret. */
export const secretText = z.string().transform((text) => new Secret(text));

/**
 * Parses keys written `id:base64` (or hex), separated by commas or line feeds, the key for new
 * secrets first; undefined when one of them does not have 32 bytes or an id repeats.
 */
export function parseEncryptionKeys(text: string): readonly EncryptionKey[] | undefined {
  const parts = text.split(/[,\n]/).map((part) => part.trim());
  const keys = parts.filter((part) => part !== '').map(toEncryptionKey);
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
function decryptWith({ id, key }: EncryptionKey, parts: readonly string[], text: string): string {
  if (!text.startsWith(formatPrefix)) throw new Error('Its format is unknown.');
  const encoded = text.slice(formatPrefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // The decoder skips invalid characters, but an envelope must have a single spelling.
  if (bytes.toString('base64url') !== encoded) throw new Error('Its encoding is not valid.');
  const tagStart = bytes.length - tagBytes;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(associatedData(parts, id));
  decipher.setAuthTag(bytes.subarray(tagStart));
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, tagStart)), decipher.final()]).toString('utf8');
}

/** JSON separates the parts whatever they contain. */
function associatedData(parts: readonly string[], keyId: string): Buffer {
  return Buffer.from(JSON.stringify([...parts, keyId]));
}

function toEncryptionKey(part: string): EncryptionKey | undefined {
  const [, id, secret] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})$/.exec(part) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const bytes = Buffer.from(secret, /^[0-9a-f]{64}$/i.test(secret) ? 'hex' : 'base64');
  return bytes.length === keyBytes ? { id, key: createSecretKey(bytes) } : undefined;
}
