import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/errors';

/** Clients that wait for `100 Continue`, by their request. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();
const faults = new WeakMap<IncomingMessage, GatewayError>();

/** The client sends its body only when it is told to. @see https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1 */
export function holdBackUpload(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/** Tells a client that waits for it to send its body now. */
export function inviteUpload(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/** Has the whole request been received? */
export function isReceived(request: IncomingMessage): boolean {
  return request.complete || !announcesBody(request);
}

/** Will more of the body come, as far as can be known? */
export function isUploading(request: IncomingMessage): boolean {
  return !isReceived(request) && !waiting.has(request) && !faults.has(request) && !request.destroyed;
}

/** Ends an upload whose connection can bring no more of it. Whoever reads the body now or later gets `fault`. */
export function breakUpload(request: IncomingMessage, fault: GatewayError): void {
  faults.set(request, fault);
  if (request.listenerCount('error') > 0) request.emit('error', fault);
}

/** Why an upload was broken off; undefined while it was not. */
export function uploadFault(request: IncomingMessage): GatewayError | undefined {
  return faults.get(request);
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
