import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { openPath } from '../../grpc-streams.ts';
import { FrameReader } from '../frame-reader.ts';
import { headersFrame, settingsFrame } from '../frames.ts';
import { encodeHeaders } from '../hpack/header-encoder.ts';
import { clientPreface, frameType, setting } from '../protocol.ts';

/** A frame as it came. */
export interface SeenFrame {
  readonly type: number;
  readonly streamId: number;
  readonly payload: Buffer;
  readonly isLast: boolean;
}

/** A peer that says whatever it likes, and what it hears. */
export class RawPeer {
  readonly frames: SeenFrame[] = [];
  readonly socket: Socket;
  isClosed = false;

  static async connect(port: number): Promise<RawPeer> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawPeer(socket);
  }

  /** `skippedBytes` come before the first frame: the preface of a client. */
  constructor(socket: Socket, skippedBytes = 0) {
    this.socket = socket;
    let data = Buffer.alloc(0);
    const reader = new FrameReader(
      {
        onFrame: ({ type, flags, streamId, payload }) =>
          this.frames.push({ type, streamId, payload: Buffer.from(payload), isLast: (flags & 1) === 1 }),
        onDataBegin: () => {
          data = Buffer.alloc(0);
        },
        onData: (part) => {
          data = Buffer.concat([data, part]);
        },
        onDataEnd: (streamId, isLast) => this.frames.push({ type: frameType.data, streamId, payload: data, isLast }),
      },
      { maxFrameBytes: 2 ** 24, maxControlBytes: 2 ** 24 },
    );
    let left = skippedBytes;
    socket.on('data', (bytes: Buffer) => {
      const skipped = Math.min(left, bytes.length);
      left -= skipped;
      reader.read(bytes.subarray(skipped));
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  write(...bytes: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(bytes));
  }

  of(type: number, streamId?: number): SeenFrame[] {
    return this.frames.filter((frame) => frame.type === type && (streamId ?? frame.streamId) === frame.streamId);
  }

  /** The code with which the other side has ended the connection. */
  async goAwayCode(): Promise<number | undefined> {
    await expect.poll(() => this.isClosed, { timeout: 5_000 }).toBe(true);
    return this.of(frameType.goAway).at(-1)?.payload.readUInt32BE(4);
  }
}

/** What a client of ours says at first, but for the headers. */
export const ownPreface = Buffer.concat([clientPreface, settingsFrame([[setting.onlyStreamOfCalls, 1]])]);

export function requestBlock(path = openPath): Buffer {
  const fields = { ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'here', te: 'trailers' };
  return encodeHeaders(Object.entries(fields).map(([name, value]) => ({ name, value })));
}

export const ownOpening = Buffer.concat([ownPreface, headersFrame(1, requestBlock(), false)]);
