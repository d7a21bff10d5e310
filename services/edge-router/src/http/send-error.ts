import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/errors';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import { renderError } from '../errors/render-error.ts';

/** How long a client may go on uploading after it was refused, so that it sees the answer and not a reset. */
const lingerMs = 1_000;

/** Sends an error in the endpoint's shape. Does nothing for an answer that has begun: its stream ends it itself. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { error, dialect, nowMs }: { readonly error: GatewayError; readonly dialect: ErrorDialect; readonly nowMs: number },
): void {
  if (response.headersSent || response.destroyed) return;
  const { status, headers, body } = renderError(error, dialect, nowMs);
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    ...(request.complete ? {} : { connection: 'close' }),
  });
  if (request.complete) response.end(body);
  else endAfterUpload(request, response, body);
}

/** The answer is complete with its body; the connection is closed only when the upload ends, or soon after. */
function endAfterUpload(request: IncomingMessage, response: ServerResponse, body: string): void {
  response.write(body);
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, lingerMs);
  request.once('end', end).once('close', end).resume();
}
