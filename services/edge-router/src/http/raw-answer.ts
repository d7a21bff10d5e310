import { randomUUIDv7 } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type HttpFault, renderHttpFault } from './http-fault.ts';
import { requestIdHeader } from './request-id.ts';

/** How long a client may take to close its side after the last answer. */
const lingerMs = 1_000;

/**
 * The last answer on a connection that has no request to answer, in the chat shape: no endpoint is known. Does nothing when
 * the connection is closing already.
 */
export function sendRawAnswer(connection: Duplex, fault: HttpFault): void {
  if (!connection.writable) return;
  const { status, headers, body } = renderHttpFault(fault, 'chat');
  const fields = {
    date: new Date().toUTCString(),
    [requestIdHeader]: randomUUIDv7(),
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  const timer = setTimeout(() => connection.destroy(), lingerMs);
  connection.once('close', () => clearTimeout(timer));
}
