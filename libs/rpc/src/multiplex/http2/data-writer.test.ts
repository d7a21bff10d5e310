import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { roomBeforeBatch } from '../batch-transport.ts';
import { DataWriter } from './data-writer.ts';
import { FrameReader } from './frame-reader.ts';
import { endOfDataFrame } from './frames.ts';
import { MessageReader } from './message-reader.ts';
import { defaultMaxFrameBytes, defaultWindowBytes, errorCode, largestWindowBytes } from './protocol.ts';

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('message'), bytes: fc.oneof(fc.nat(60), fc.nat(80_000)) }) },
  fc.record({ kind: fc.constant('window of the stream'), bytes: fc.integer({ min: 1, max: 40_000 }) }),
  fc.record({ kind: fc.constant('window of the connection'), bytes: fc.integer({ min: 1, max: 40_000 }) }),
  fc.record({ kind: fc.constant('first window'), bytes: fc.nat(100_000) }),
  fc.record({ kind: fc.constant('largest frame'), bytes: fc.integer({ min: 16_384, max: 100_000 }) }),
);

describe('a writer of data', () => {
  it('sends all messages, in order and within the windows and sizes of frames that the peer allows', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const peer = new Peer();
        const sent: number[] = [];
        let messages = 0;
        for (const { kind, bytes } of steps) {
          if (kind !== 'message') peer.allow(kind, bytes);
          else {
            const index = messages++;
            peer.expected.push(bytes);
            peer.writer.send({ bytes: Buffer.alloc(roomBeforeBatch + bytes, index), start: roomBeforeBatch }, () =>
              sent.push(index),
            );
          }
        }
        let hasEnded = false;
        peer.writer.finish(endOfDataFrame(1), () => {
          hasEnded = true;
        });
        expect([hasEnded, peer.hasEnd]).toEqual(Array(2).fill(peer.received.length === messages));
        while (!hasEnded) {
          peer.allow('window of the stream', 1_000);
          peer.allow('window of the connection', 1_000);
        }
        expect(sent).toEqual(Array.from({ length: messages }, (_, index) => index));
        expect(peer.received).toEqual(
          peer.expected.map((length, index) => `${length} × ${length > 0 ? index : 'none'}`),
        );
        expect(peer.hasEnd).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['by nothing', (writer: DataWriter) => writer.onWindowUpdate(1, 0), errorCode.protocolError],
    [
      'of the stream beyond any',
      (writer: DataWriter) => writer.onWindowUpdate(1, largestWindowBytes),
      errorCode.flowControlError,
    ],
    [
      'of the connection beyond any',
      (writer: DataWriter) => writer.onWindowUpdate(0, largestWindowBytes),
      errorCode.flowControlError,
    ],
    [
      'by way of a setting beyond any',
      (writer: DataWriter) => {
        writer.onWindowUpdate(1, 1);
        writer.onInitialWindow(largestWindowBytes);
      },
      errorCode.flowControlError,
    ],
  ])('refuses a window that is opened %s', (_, open, code) => {
    expect(() => open(new Peer().writer)).toThrow(expect.objectContaining({ code }));
  });
});

/** What a writer writes, held to what it may. */
class Peer {
  readonly expected: number[] = [];
  readonly received: string[] = [];
  hasEnd = false;
  readonly writer: DataWriter;
  readonly #windows = { stream: defaultWindowBytes, connection: defaultWindowBytes, first: defaultWindowBytes };
  #largestFrame = defaultMaxFrameBytes;

  constructor() {
    const messages = new MessageReader(100_000, (message) => {
      const fills = new Set(message);
      expect(fills.size).toBeLessThan(2);
      this.received.push(`${message.length} × ${[...fills][0] ?? 'none'}`);
    });
    const frames = new FrameReader(
      {
        onFrame: () => expect.unreachable(),
        onDataBegin: (streamId, length) => this.#onData(streamId, length),
        onData: (part) => messages.read(part),
        onDataEnd: (_, isLast) => {
          this.hasEnd ||= isLast;
        },
      },
      { maxFrameBytes: 2 ** 24, maxControlBytes: 0 },
    );
    this.writer = new DataWriter({
      write: (bytes, written) => {
        expect(this.hasEnd).toBe(false);
        frames.read(bytes);
        written?.();
      },
      cork: () => undefined,
      uncork: () => undefined,
    });
  }

  allow(kind: string, bytes: number): void {
    if (kind === 'largest frame') {
      this.#largestFrame = bytes;
      this.writer.onMaxFrameBytes(bytes);
    } else if (kind === 'first window') {
      this.#windows.stream += bytes - this.#windows.first;
      this.#windows.first = bytes;
      this.writer.onInitialWindow(bytes);
    } else {
      const isStream = kind === 'window of the stream';
      this.#windows[isStream ? 'stream' : 'connection'] += bytes;
      this.writer.onWindowUpdate(isStream ? 1 : 0, bytes);
    }
  }

  #onData(streamId: number, length: number): void {
    expect(streamId).toBe(1);
    expect(length).toBeLessThanOrEqual(this.#largestFrame);
    this.#windows.stream -= length;
    this.#windows.connection -= length;
    if (length > 0) expect(Math.min(this.#windows.stream, this.#windows.connection)).toBeGreaterThanOrEqual(0);
  }
}
