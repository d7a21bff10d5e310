import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Of callers: `service`, `personal`. Of those who sign in to the admin service: `operator`. */
export type TokenTextKind = 'service' | 'personal' | 'operator';

/**
 * A new token: `gw_s_` (service), `gw_p_` (personal) or `gw_a_` (operator), 30 random characters (178 bits), and a checksum of 6 over all
 * that precedes it. All characters are letters, digits or `_`, so that a double click selects the whole.
 */
export function createTokenText(kind: TokenTextKind): string {
  const body = `gw_${letterOfKind[kind]}_${Array.from({ length: randomLength }, randomCharacter).join('')}`;
  return body + checksumOf(body);
}

/**
 * What a text says of itself, or undefined when it can't be a token: wrong form or wrong checksum. No lookup is
 * needed for that, so guesses and typing errors cost nothing. Whether the token exists is another question.
 */
export function parseTokenText(text: string): { readonly kind: TokenTextKind } | undefined {
  const [, body = '', letter, checksum] = form.exec(text) ?? [];
  if (checksum === undefined || checksum !== checksumOf(body)) return undefined;
  return { kind: letter === 's' ? 'service' : letter === 'p' ? 'personal' : 'operator' };
}

/** The digest by which services name a token to each other; the text itself stays with its holder and the edge. */
export function tokenSha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

const randomLength = 30;
const checksumLength = 6;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const letterOfKind = { service: 's', personal: 'p', operator: 'a' } as const satisfies Record<TokenTextKind, string>;
const form = /^(gw_([spa])_[0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

function randomCharacter(): string {
  return alphabet.charAt(randomInt(alphabet.length));
}

/** The CRC-32 of a text in base 62. Six digits hold every CRC-32. */
function checksumOf(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let place = 0; place < checksumLength; place++) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}
