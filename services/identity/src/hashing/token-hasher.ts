import { createHmac } from 'node:crypto';
import type { HashKey } from './hash-key.ts';

/** A token's digest under one key, as stored. */
export interface TokenHash {
  readonly keyId: string;
  /** Lower-case hex of HMAC-SHA-256(key, SHA-256(text)). */
  readonly hash: string;
}

/** Makes and finds stored hashes. Tokens are 178 random bits, so a slow hash would protect nothing. */
export class TokenHasher {
  readonly #keys: readonly [HashKey, ...HashKey[]];

  constructor(keys: readonly HashKey[]) {
    const [current, ...older] = keys;
    if (current === undefined) throw new TypeError('Token hashes need at least one key.');
    this.#keys = [current, ...older];
  }

  /** The hash to store for a new token. */
  current(tokenSha256: Uint8Array): TokenHash {
    return hashWith(this.#keys[0], tokenSha256);
  }

  /** Every hash under which the token may be stored, one for each key. */
  candidates(tokenSha256: Uint8Array): readonly TokenHash[] {
    return this.#keys.map((key) => hashWith(key, tokenSha256));
  }
}

function hashWith({ id, secret }: HashKey, tokenSha256: Uint8Array): TokenHash {
  return { keyId: id, hash: createHmac('sha256', secret).update(tokenSha256).digest('hex') };
}
