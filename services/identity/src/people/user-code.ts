import { randomInteger } from '@gateway/time';

/** Consonants only, so that no words arise, and none that look alike. @see RFC 8628, section 6.1 */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** A code that a person compares and may type: "KDRT-PQXW". One of 25 billion. */
export function createUserCode(): string {
  const letters = Array.from({ length }, () => alphabet.charAt(randomInteger(alphabet.length))).join('');
  return `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`;
}

/** The code as it is hashed. Capitals and everything but letters do not matter. */
export function normalUserCode(text: string): string {
  return text
    .slice(0, maxTyped)
    .toUpperCase()
    .replace(/[^A-Z]/g, '');
}

const maxTyped = 40;
