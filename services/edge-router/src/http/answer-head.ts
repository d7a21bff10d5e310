import type { ServerResponse } from 'node:http';

/** Headers that go on whatever answer follows, by the answer. Setting them one by one would cost more than all of its head. */
const lasting = new WeakMap<ServerResponse, Readonly<Record<string, string>>>();

/** Keeps headers for the answer, whichever it will be. */
export function keepHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  lasting.set(response, headers);
}

/** Writes the head of an answer, in one go: the headers that were kept for it, then its own. */
export function writeHead(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | number>>,
): void {
  const kept = lasting.get(response);
  const flat: (string | number)[] = [];
  for (const name in kept) flat.push(name, kept[name] ?? '');
  for (const name in headers) flat.push(name, headers[name] ?? '');
  response.writeHead(status, flat);
}
