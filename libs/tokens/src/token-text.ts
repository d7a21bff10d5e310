import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { randomInteger } from '@gateway/time';

/** Of callers: `service`, `personal`. Of operators who sign in to the admin service: `operator`. */
export type TokenTextKind = 'service' | 'personal' | 'operator';

/**
 * Creates a token: `gw_s_` (service), `gw_p_` (personal) or `gw_a_` (operator), 30 random
 * characters (178 bits), and a checksum of 6 characters over everything before it. All characters
 * are letters, digits or `_`, so that a double click selects the whole token.
 */
export function createTokenText(kind: TokenTextKind): string {
  return textOf(kind, Array.from({ length: randomLength }, randomCharacter).join(''));
}

/**
 * The token text of a secret: always the same, and as hard to guess. @param secret at least 32
 * bytes.
 */
export function tokenTextFrom(kind: TokenTextKind, secret: Buffer): string {
  if (secret.length < 32) throw new RangeError('A token text is derived from at least 32 bytes.');
  let rest = BigInt(`0x${secret.toString('hex')}`);
  let characters = '';
  for (let place = 0; place < randomLength; place++) {
    characters += alphabet.charAt(Number(rest % alphabetLength));
    rest /= alphabetLength;
  }
  return textOf(kind, characters);
}

/**
 * The kind of a token text; undefined when it can't be a token because of its form or checksum.
 * This needs no lookup, so that guesses and typing errors cost nothing. It does not show whether
 * the token exists.
 */
export function parseTokenText(text: string): { readonly kind: TokenTextKind } | undefined {
  const [, body = '', letter, checksum] = form.exec(text) ?? [];
  if (checksum === undefined || checksum !== checksumOf(body)) return undefined;
  return { kind: letter === 's' ? 'service' : letter === 'p' ? 'personal' : 'operator' };
}

/** The digest by which services refer to a token; only its holder and the edge have the text. */
export function tokenSha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

const randomLength = 30;
const checksumLength = 6;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const letterOfKind = { service: 's', personal: 'p', operator: 'a' } as const satisfies Record<TokenTextKind, string>;
const form = /^(gw_([spa])_[0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

const alphabetLength = BigInt(alphabet.length);

function textOf(kind: TokenTextKind, characters: string): string {
  const body = `gw_${letterOfKind[kind]}_${characters}`;
  return body + checksumOf(body);
}

function randomCharacter(): string {
  return alphabet.charAt(randomInteger(alphabet.length));
}

/** The CRC-32 of a text in base 62. Six digits suffice for every CRC-32. */
function checksumOf(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let place = 0; place < checksumLength; place++) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}
