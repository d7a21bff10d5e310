/**
 * A path of this console with its query and fragment, as it may stand in a Location header; the first page for what a browser would
 * take for an address elsewhere. It begins with exactly one slash: two would begin the name of a host.
 */
export function localPath(text: unknown): string {
  if (typeof text !== 'string' || text.length > maxLength || !text.startsWith('/')) return '/';
  const url = URL.parse(text, origin);
  if (url?.origin !== origin) return '/';
  return `${url.pathname.replace(/^\/+/, '/')}${url.search}${url.hash}`;
}

/** Any that is not taken: only what does not leave it is a path of the console. */
const origin = 'http://console.invalid';
const maxLength = 2_000;
