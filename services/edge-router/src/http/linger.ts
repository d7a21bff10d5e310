import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long a client may go on uploading after it was refused, how long it may pause meanwhile, and how much it may send. */
export interface LingerLimits {
  readonly totalMs: number;
  readonly pauseMs: number;
  readonly bytes: number;
}

const usualLimits: LingerLimits = { totalMs: 5_000, pauseMs: 1_000, bytes: 64 * 1024 * 1024 };

/**
 * Sends the whole answer at once, and closes the connection when the upload has ended or was borne with for long enough.
 * Closing earlier would reset the connection, and the client would lose the answer.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export function endAfterUpload(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  { totalMs, pauseMs, bytes }: LingerLimits = usualLimits,
): void {
  response.write(body);
  let bytesLeft = bytes;
  const end = () => {
    clearTimeout(total);
    clearTimeout(pause);
    response.end();
  };
  const total = setTimeout(end, totalMs);
  const pause = setTimeout(end, pauseMs);
  request.once('end', end).once('close', end).on('error', end);
  request.on('data', (chunk: Buffer) => {
    pause.refresh();
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) end();
  });
  request.resume();
}
