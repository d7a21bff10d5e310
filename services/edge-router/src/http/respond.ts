import { type IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import type { GatewayError } from '@gateway/errors';
import { cancelTimer, startTimer, timeOrderedId } from '@gateway/time';
import type { EdgeRequest } from '../body/read-body.ts';
import { type ErrorDialect, renderError } from '../errors/render-error.ts';

/**
 * Writes the head of an answer: the headers set so far, then these. None of these can replace the
 * request's id.
 */
export function writeHead(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | number>>,
): void {
  for (const [name, value] of Object.entries(headers)) {
    if (![requestIdHeader, messagesRequestIdHeader].includes(name.toLowerCase())) response.setHeader(name, value);
  }
  response.writeHead(status);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  writeHead(response, status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

/**
 * Sends an error in the endpoint's shape. Does nothing if the answer has started: then its stream
 * ends it.
 */
export function sendError(response: EdgeResponse, error: GatewayError, dialect: ErrorDialect, nowMs = 0): void {
  if (response.headersSent || response.destroyed) return;
  const { status, headers, body } = renderError(error, dialect, nowMs);
  if (dialect === 'messages') nameForMessages(response);
  // The connection can't be reused: the unread body would be parsed as the next request.
  if (!response.req.isReceived) response.shouldKeepAlive = false;
  writeHead(response, status, { ...headers, 'content-length': Buffer.byteLength(body) });
  if (response.req.isUploading) endAfterUpload(response, body);
  else response.end(body);
}

/**
 * Limits for a client that continues to upload after a refusal: the total time, the longest pause
 * and the number of bytes.
 */
const usualLimits = { totalMs: 5_000, pauseMs: 1_000, bytes: 64 * 1024 * 1024 };
export type LingerLimits = Readonly<typeof usualLimits>;

/**
 * Sends the whole answer at once, and closes the connection when the upload has ended or has lasted
 * long enough. Closing earlier would reset the connection, and the client would lose the answer.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export function endAfterUpload(response: ServerResponse, body: string, limits: LingerLimits = usualLimits): void {
  response.write(body);
  let bytesLeft = limits.bytes;
  const end = () => {
    cancelTimer(total);
    cancelTimer(pause);
    response.end();
  };
  const total = startTimer(end, limits.totalMs);
  const pause = startTimer(end, limits.pauseMs);
  response.req.once('end', end).once('close', end).on('error', end);
  response.req.on('data', (chunk: Buffer) => {
    pause.refresh();
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) end();
  });
  response.req.resume();
}

/**
 * Every answer contains the request's id, which the log and the ledger use too. It is always our
 * own id, never one of a client or a provider.
 */
const requestIdHeader = 'x-request-id';

/**
 * The name of the same header in Anthropic's SDKs, whose errors show it. Only Messages endpoints
 * send it, in addition to the other one.
 */
const messagesRequestIdHeader = 'request-id';

/** An answer, which contains the id of its request from the start. */
export class EdgeResponse extends ServerResponse<EdgeRequest> {
  readonly requestId = timeOrderedId();

  constructor(request: EdgeRequest) {
    super(request);
    this.setHeader(requestIdHeader, this.requestId);
  }
}

/** Adds the id under the other name too. */
export function nameForMessages(response: EdgeResponse): void {
  response.setHeader(messagesRequestIdHeader, response.requestId);
}

/**
 * The id that the client itself gave a request: the visible ones of its first characters. Empty:
 * none.
 */
export function clientRequestIdOf({ headers }: IncomingMessage): string {
  const given = headers[requestIdHeader];
  if (typeof given !== 'string') return '';
  return given.slice(0, maxClientIdLength).replace(/[^\x21-\x7e]/g, '');
}

const maxClientIdLength = 128;

/**
 * Aborted when the client of a request disconnects: its connection closes before the answer is
 * sent.
 */
export function clientSignal(response: ServerResponse): AbortSignal {
  const connection = response.req.socket;
  const controller = new AbortController();
  const onClose = () => {
    connection.off('close', onClose);
    if (!response.writableFinished) controller.abort(new Error('The client disconnected.'));
  };
  response.once('close', onClose);
  // An answer that waits for earlier ones on its connection is not notified when the connection
  // closes.
  connection.once('close', onClose);
  return controller.signal;
}

/**
 * Resolves when the operating system has the whole answer, or its client has disconnected. Resolves
 * at once for an answer that has not ended.
 */
export async function untilSentOrDisconnected(response: ServerResponse, signal: AbortSignal): Promise<void> {
  const isUnderWay = response.writableEnded && !response.writableFinished && !signal.aborted;
  if (isUnderWay) await finished(response, { signal }).catch(() => undefined);
}
