import type { ServerResponse } from 'node:http';

/**
 * Headers that go on whatever answer follows stand in the answer itself: setting them one by one would cost more than all of its
 * head, and a map of all answers that is looked through with each garbage collection as much.
 */
const kept = Symbol('kept headers');

interface KeepingResponse extends ServerResponse {
  [kept]?: Readonly<Record<string, string>>;
}

/** Keeps headers for the answer, whichever it will be. */
export function keepHeaders(response: KeepingResponse, headers: Readonly<Record<string, string>>): void {
  response[kept] = headers;
}

/** Writes the head of an answer, in one go: the headers that were kept for it, then its own. */
export function writeHead(
  response: KeepingResponse,
  status: number,
  headers: Readonly<Record<string, string | number>>,
): void {
  const flat: (string | number)[] = [];
  append(flat, response[kept]);
  append(flat, headers);
  response.writeHead(status, flat);
}

function append(flat: (string | number)[], headers: Readonly<Record<string, string | number>> | undefined): void {
  for (const name in headers) flat.push(name, headers[name] ?? '');
}
