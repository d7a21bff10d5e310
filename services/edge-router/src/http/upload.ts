import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/errors';

/** Clients that wait for `100 Continue`, by their request. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();
const faults = new WeakMap<IncomingMessage, GatewayError>();

/** The client sends its body only when it is asked to. @see https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1 */
export function deferUpload(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/** Asks a client that waits for it to send its body now. */
export function inviteUpload(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/** Has the whole request been received? */
export function isReceived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0);
}

/** Will more of the body come, as far as can be known? */
export function isUploading(request: IncomingMessage): boolean {
  return !isReceived(request) && !waiting.has(request) && !faults.has(request) && !request.destroyed;
}

/** Ends an upload whose connection can bring no more of it. Reading the body fails with `fault`, now or later. */
export function breakUpload(request: IncomingMessage, fault: GatewayError): void {
  faults.set(request, fault);
  if (request.listenerCount('error') > 0) request.emit('error', fault);
}

/** Why an upload was broken off; undefined while it was not. */
export function uploadFault(request: IncomingMessage): GatewayError | undefined {
  return faults.get(request);
}
