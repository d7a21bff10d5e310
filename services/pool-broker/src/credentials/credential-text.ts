import { type Credential, Secret } from '@gateway/config';
import { z } from 'zod';

/** A credential as the text that is encrypted. */
export function toCredentialText(credential: Credential): string {
  return JSON.stringify(Object.fromEntries(revealed(credential)));
}

/** The members of a credential, with their secrets in plain text. */
export function revealed(credential: Credential): readonly (readonly [string, unknown])[] {
  const members: readonly (readonly [string, unknown])[] = Object.entries(credential);
  return members.map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]);
}

/** The credential in a decrypted text; undefined for what is none. */
export function fromCredentialText(text: string): Credential | undefined {
  return credentialSchema.safeParse(parseJson(text)).data;
}

/** Any JSON; undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const secretText = z.string().transform((text) => new Secret(text));

const credentialSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['bearer', 'api_key']), secret: secretText }),
  z.object({
    kind: z.literal('oauth'),
    tokenUrl: z.string(),
    clientId: z.string(),
    clientSecret: secretText.optional().transform((secret) => secret),
    refreshToken: secretText,
    scopes: z.array(z.string()),
  }),
]);
