import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { split } from './__fixtures__/split.ts';
import { FrameReader, type FrameReceiver } from './frame-reader.ts';
import { frame } from './frames.ts';
import { errorCode, frameFlag, frameType } from './protocol.ts';

const limits = { maxFrameBytes: 20_000, maxControlBytes: 300 };

const anyFrame = fc.record({
  type: fc.integer({ min: 0, max: 12 }),
  /** Not those of padding, which is added below. */
  flags: fc.constantFrom(0, frameFlag.endStream, frameFlag.endHeaders),
  streamId: fc.nat(2 ** 31 - 1),
  size: fc.oneof(fc.nat(20), fc.nat(300)),
  padding: fc.option(fc.nat(255), { nil: undefined }),
});
type AnyFrame = typeof anyFrame extends fc.Arbitrary<infer T> ? T : never;

describe('a reader of frames', () => {
  it('tells the frames that were written, however they are split', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 200 })), (frames, cuts) => {
        const seen = new Seen();
        const reader = new FrameReader(seen, limits);
        for (const piece of split(Buffer.concat(frames.map(written)), cuts)) reader.read(piece);
        expect(seen.words).toEqual(frames.map(told));
      }),
      { numRuns: 500 },
    );
  });

  it('passes on data that came at once without a copy', () => {
    const bytes = frame(frameType.data, 0, 1, Buffer.from('data'));
    const parts: Buffer[] = [];
    new FrameReader(Object.assign(new Seen(), { onData: (part: Buffer) => parts.push(part) }), limits).read(bytes);
    expect(parts.map((part) => [part.buffer === bytes.buffer, part.toString()])).toEqual([[true, 'data']]);
  });

  it.each([
    ['longer than any may be', frame(frameType.data, 0, 1, Buffer.alloc(20_001)), errorCode.frameSizeError],
    [
      'that must be put together, and is long',
      frame(frameType.headers, 0, 1, Buffer.alloc(301)),
      errorCode.frameSizeError,
    ],
    [
      'that should be padded and is empty',
      frame(frameType.data, frameFlag.padded, 1, Buffer.alloc(0)),
      errorCode.frameSizeError,
    ],
    [
      'of more padding than it is long',
      frame(frameType.data, frameFlag.padded, 1, Buffer.of(1)),
      errorCode.protocolError,
    ],
  ])('refuses a frame %s', (_, bytes, code) => {
    expect(() => new FrameReader(new Seen(), limits).read(bytes)).toThrow(expect.objectContaining({ code }));
  });
});

/** What a reader has told, frame by frame. */
class Seen implements FrameReceiver {
  readonly words: string[] = [];
  #data = '';

  onFrame(frame: { type: number; flags: number; streamId: number; payload: Buffer }): void {
    this.words.push(`${frame.type} ${frame.flags} ${frame.streamId} ${frame.payload.toString('hex')}`);
  }

  onDataBegin(streamId: number, length: number): void {
    this.#data = `data ${streamId} ${length} `;
  }

  onData(part: Buffer): void {
    this.#data += part.toString('hex');
  }

  onDataEnd(streamId: number, isLast: boolean): void {
    this.words.push(`${this.#data} ${streamId} ${isLast}`);
  }
}

function told({ type, flags, streamId, size, padding }: AnyFrame): string {
  const content = contentOf(type, size).toString('hex');
  if (type > frameType.continuation) return `${type} ${flags} ${streamId} `;
  if (type !== frameType.data) return `${type} ${flags} ${streamId} ${content}`;
  const length = size + (padding === undefined ? 0 : padding + 1);
  return `data ${streamId} ${length} ${content} ${streamId} ${(flags & frameFlag.endStream) !== 0}`;
}

function written({ type, flags, streamId, size, padding }: AnyFrame): Buffer {
  const content = contentOf(type, size);
  if (type !== frameType.data || padding === undefined) return frame(type, flags, streamId, content);
  const padded = Buffer.concat([Buffer.of(padding), content, Buffer.alloc(padding)]);
  return frame(type, flags | frameFlag.padded, streamId, padded);
}

function contentOf(type: number, size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, n) => type + n));
}
