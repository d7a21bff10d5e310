import { fromBinary } from '@bufbuild/protobuf';
import { OpenRequestSchema } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MessageInParts } from '../wire/message-in-parts.ts';
import { roomBeforeBatch } from './batch-transport.ts';
import { FrameBatch, framesOf } from './frame-batch.ts';
import { readFrames } from './frames.ts';

const anyFrame = fc.record({
  head: fc.integer({ min: 0, max: 255 }),
  callId: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  /** On both sides of what is copied at once. */
  size: fc.oneof(fc.nat(600), fc.integer({ min: 4_000, max: 4_200 }), fc.integer({ min: 10_000, max: 70_000 })),
  /** Where the payload is cut into parts. */
  cut: fc.option(fc.nat(8_000), { nil: undefined }),
});

it('holds the frames that were added, in order, as one field of protobuf', () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 12 }), fc.nat(20_000), (frames, expectedBytes) => {
      const batch = new FrameBatch(expectedBytes);
      for (const { head, callId, size, cut } of frames) {
        const payload = Buffer.alloc(size, callId);
        const parts = new MessageInParts([payload.subarray(0, cut), payload.subarray(cut)]);
        batch.add(head, callId, cut === undefined ? payload : parts);
      }
      const { length } = batch;
      const { bytes, start } = batch.toMessage();
      expect(start).toBeGreaterThanOrEqual(roomBeforeBatch);
      const message = bytes.subarray(start);
      const read: unknown[] = [];
      readFrames(framesOf(message) ?? Buffer.from('?'), {
        onFrame: (head, callId, payload) => {
          expect(payload.equals(Buffer.alloc(payload.length, callId))).toBe(true);
          read.push({ head, callId, size: payload.length });
        },
      });
      expect(read).toEqual(frames.map(({ head, callId, size }) => ({ head, callId, size })));
      expect(fromBinary(OpenRequestSchema, message).frames).toHaveLength(length);
    }),
  );
});
