import type { ServerResponse } from 'node:http';
import { messagesRequestIdHeader, requestIdHeader } from './request-id.ts';

/** Keeps headers for the answer, whichever it will be. */
export function keepHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** Writes the head of an answer: the headers that were kept for it, then its own. None of these can replace the request's id. */
export function writeHead(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | number>>,
): void {
  for (const [name, value] of Object.entries(headers)) if (!isRequestId(name)) response.setHeader(name, value);
  response.writeHead(status);
}

function isRequestId(name: string): boolean {
  return [requestIdHeader, messagesRequestIdHeader].includes(name.toLowerCase());
}
