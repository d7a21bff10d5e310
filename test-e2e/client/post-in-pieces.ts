import { request } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';

export interface Pieces {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: readonly Uint8Array[];
  readonly framing: 'chunked' | 'content-length';
}

/** Posts a body in separate writes on a new connection, and reads the whole answer. */
export async function postInPieces({ url, headers, pieces, framing }: Pieces): Promise<{
  readonly status: number;
  readonly text: string;
}> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const sending = request(url, {
    method: 'POST',
    agent: false,
    headers: framing === 'chunked' ? { ...headers } : { ...headers, 'content-length': length },
    signal: AbortSignal.timeout(roomMs(30_000)),
  });
  const answer = new Promise<{ status: number; text: string }>((resolve, reject) => {
    sending.once('error', reject);
    sending.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
  });
  sending.setNoDelay(true);
  sending.flushHeaders();
  for (const piece of pieces) {
    sending.write(piece);
    await turn();
  }
  sending.end();
  return answer;
}

/**
 * The bytes, cut at these places, which are shares of the length from 0 to 1, in any order and with
 * repetitions.
 */
export function cutAt(bytes: Uint8Array, shares: readonly number[]): readonly Uint8Array[] {
  const places = [...shares.map((share) => Math.floor(share * bytes.length)), 0, bytes.length].sort((a, b) => a - b);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}
