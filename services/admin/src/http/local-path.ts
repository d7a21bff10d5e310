/**
 * A path of this console with its query and fragment, for a Location header. Returns the first page
 * for texts that a browser would read as an address elsewhere. The path begins with exactly one
 * slash: two would begin the name of a host.
 */
export function localPath(text: unknown): string {
  if (typeof text !== 'string' || text.length > maxLength || !text.startsWith('/')) return '/';
  const url = URL.parse(text, origin);
  if (url?.origin !== origin) return '/';
  return `${url.pathname.replace(/^\/+/, '/')}${url.search}${url.hash}`;
}

/** Any unused origin: a path that stays on it is a path of the console. */
const origin = 'http://console.invalid';
const maxLength = 2_000;
