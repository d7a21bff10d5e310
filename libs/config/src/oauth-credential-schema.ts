import { z } from 'zod';

/** A text that travels in a header or a form. */
export const secretText = z
  .string()
  .min(1, 'must not be empty')
  .regex(/^[\x21-\x7e]*$/, 'must be visible ASCII without spaces');

const tokenUrl = z
  .string()
  .refine(
    isTokenUrl,
    'must be a URL that starts with https://, without a user name; http:// only at an address of this machine',
  );

/** How access tokens are got for a refresh token. */
export const oauthCredentialSchema = z.strictObject({
  token_url: tokenUrl.describe("The provider's token endpoint, such as https://auth.example.com/oauth/token"),
  client_id: secretText,
  client_secret: secretText.optional().describe('By reference. Absent: the client has none.'),
  refresh_token: secretText.describe(
    'By reference. Only the first one is taken from here: those that the provider gives in its place are kept in the database.',
  ),
  scopes: z.array(secretText).default([]).describe('Absent: those that the refresh token was given for.'),
});

/** Refresh tokens do not travel in the clear, and no part of the URL is a secret. */
export function isTokenUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
