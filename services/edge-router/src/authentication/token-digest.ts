import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { tokenSha256Text } from '@gateway/tokens';

/**
 * The SHA-256 of the token that a request presents, one character a byte. A client mostly sends the same token over its connection
 * again and again; the digest of that is remembered with the connection, as digesting costs as much as the rest of knowing who
 * calls. The text itself is kept for no longer than the connection of whoever sent it, which is where it comes in with each of
 * his requests anyway, and it is compared with nothing but what comes over that connection: there is no table of tokens
 * that could be read or probed. Whether the digest still names a valid token is asked anew each time.
 */
export function tokenDigest(request: Pick<IncomingMessage, 'socket'>, text: string): string {
  const connection: TokenConnection = request.socket;
  const known = connection[presented];
  if (known?.text === text) return known.digest;
  const digest = tokenSha256Text(text);
  connection[presented] = { text, digest };
  return digest;
}

const presented = Symbol('presented token');

interface TokenConnection extends Socket {
  [presented]?: { readonly text: string; readonly digest: string };
}
