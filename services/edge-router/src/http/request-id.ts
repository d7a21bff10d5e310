import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * The id of a request, as the log, the trace and the ledger have it: every answer names it. Always ours: one that a client sends, or a
 * provider, is another thing.
 */
export const requestIdHeader = 'x-request-id';

/** The name by which Anthropic's SDKs know it: their errors show it. On the Messages endpoints only, beside the other one. */
const messagesRequestIdHeader = 'request-id';

/** Gives a request its id, which every answer to it carries. */
export function assignRequestId(response: ServerResponse): void {
  response.setHeader(requestIdHeader, randomUUIDv7());
}

/** @throws when the request was given none. */
export function requestIdOf(response: ServerResponse): string {
  const requestId = response.getHeader(requestIdHeader);
  if (typeof requestId !== 'string') throw new Error('the request has no id');
  return requestId;
}

/** The answer carries the id by the other name too. */
export function nameForMessages(response: ServerResponse): void {
  response.setHeader(messagesRequestIdHeader, requestIdOf(response));
}

export function isRequestId(header: string): boolean {
  return [requestIdHeader, messagesRequestIdHeader].includes(header.toLowerCase());
}

/** The id that the client itself gave a request: what can be seen of its first characters. Empty: it gave none. */
export function clientRequestIdOf({ headers }: IncomingMessage): string {
  const given = headers[requestIdHeader];
  if (typeof given !== 'string') return '';
  // A copy: a slice would keep the whole header in memory for as long as the request is remembered.
  const beginning = Buffer.from(given.slice(0, maxClientIdLength), 'latin1').toString('latin1');
  return beginning.replace(/[^\x21-\x7e]/g, '');
}

const maxClientIdLength = 128;
