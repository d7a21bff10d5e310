import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/errors';
import { isReceived, isUploading } from '../body/upload.ts';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import { renderError } from '../errors/render-error.ts';
import { writeHead } from './answer-head.ts';
import { HttpFault, renderHttpFault } from './http-fault.ts';
import { endAfterUpload } from './linger.ts';
import { nameForMessages } from './request-id.ts';

/** Sends an error in the endpoint's shape. Does nothing for an answer that has begun: its stream ends it itself. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { error, dialect, nowMs }: { readonly error: GatewayError; readonly dialect: ErrorDialect; readonly nowMs: number },
): void {
  if (response.headersSent || response.destroyed) return;
  const { status, headers, body } =
    error instanceof HttpFault ? renderHttpFault(error, dialect) : renderError(error, dialect, nowMs);
  if (dialect === 'messages') nameForMessages(response);
  // What is left of the request stands where the next one would begin.
  if (!isReceived(request)) response.shouldKeepAlive = false;
  writeHead(response, status, { ...headers, 'content-length': Buffer.byteLength(body) });
  if (isUploading(request)) endAfterUpload(request, response, body);
  else response.end(body);
}
