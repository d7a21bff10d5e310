import type { Socket } from 'node:net';
import { YieldBudget } from '@gateway/time';
import { slicesOf } from '../../slices.ts';
import type { WrittenRequest } from './http-exchange.ts';
import { isPieces } from './request-head.ts';

/**
 * Hands a request to its socket. Undefined when that was all at once; else what to wait for until it was, or until the
 * socket is gone.
 */
export function sendRequest(socket: Socket, { head, body, bodyBytes }: WrittenRequest): Promise<void> | undefined {
  if (isPieces(body)) return writeInTurns(socket, head, body);
  if (bodyBytes <= maxJoinedBytes) socket.write(joined(head, body, bodyBytes));
  else writeTogether(socket, head, typeof body === 'string' ? Buffer.from(body) : body);
  return undefined;
}

/** Copying so much costs less than a second entry in what is written. */
const maxJoinedBytes = 16 * 1024;

function joined(head: string, body: Uint8Array | string, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + length);
  bytes.write(head, 0, 'latin1');
  if (typeof body === 'string') bytes.write(body, head.length, 'utf8');
  else bytes.set(body, head.length);
  return bytes;
}

/** Both in one write. False when the socket has enough for now. */
function writeTogether(socket: Socket, head: string, bytes: Uint8Array): boolean {
  socket.cork();
  socket.write(head, 'latin1');
  const hasRoom = socket.write(bytes);
  socket.uncork();
  return hasRoom;
}

/** The provider may answer meanwhile. */
async function writeInTurns(socket: Socket, head: string, pieces: readonly Uint8Array[]): Promise<void> {
  const turns = new YieldBudget();
  let isFirst = true;
  for (const slice of slicesOf(pieces)) {
    const hasRoom = isFirst ? writeTogether(socket, head, slice) : socket.write(slice);
    isFirst = false;
    if (!hasRoom) await drained(socket);
    const turn = turns.spend(slice.length);
    if (turn !== undefined) await turn;
    if (socket.destroyed) return;
  }
  if (isFirst) socket.write(head, 'latin1');
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}
