import { Secret } from '@gateway/config';
import { z } from 'zod';

/** JSON with every secret in plain text: only to be encrypted or hashed. */
export function revealedJson(value: unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, shown: unknown) {
    // `shown` is what the secret's own toJSON gave.
    const member = this[key];
    return member instanceof Secret ? member.reveal() : shown;
  });
}

/** A text in JSON that is a secret from then on. */
export const secretText = z.string().transform((text) => new Secret(text));
