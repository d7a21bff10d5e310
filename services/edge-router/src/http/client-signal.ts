import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasStalled } from './stalled-clients.ts';

/** Why the signal of a request aborts: its connection closed before the answer was out. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft';
  /** True when it was cut off because it took nothing of the answer for too long. */
  readonly hasStalled: boolean;

  constructor(hasStalled = false) {
    super('The client has left.');
    this.hasStalled = hasStalled;
  }
}

/** Aborts when the client of a request leaves. */
export function clientSignal({ socket: connection }: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const onClose = () => {
    connection.off('close', onClose);
    if (!response.writableFinished) controller.abort(new ClientLeft(hasStalled(connection)));
  };
  response.once('close', onClose);
  // An answer that waits for earlier ones of its connection does not hear of its end.
  connection.once('close', onClose);
  return controller.signal;
}

/** Resolves when the system has all of the answer, or its client has left. At once for one that has no end yet. */
export async function sentOrLeft(response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (!response.writableEnded || response.writableFinished || signal.aborted) return;
  const over = Promise.withResolvers<void>();
  response.once('finish', over.resolve);
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  await over.promise;
}
