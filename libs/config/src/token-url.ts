import { z } from 'zod';
import { isLoopback } from './transport-settings.ts';

/** The URL that a secret is sent to, or that is a secret itself. */
export const tokenUrl = z
  .string()
  .refine(
    isTokenUrl,
    'must be a URL that starts with https://, without a user name; http:// is allowed for addresses of this machine only',
  );

/** Secrets are only sent encrypted, and not in a part of the URL that may be shown. */
export function isTokenUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')));
}
