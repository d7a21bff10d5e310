import { fromBinary } from '@bufbuild/protobuf';
import { OpenRequestSchema } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameBatch, framesOf } from './frame-batch.ts';
import { readFrames } from './frames.ts';

const anyFrame = fc.record({
  head: fc.integer({ min: 0, max: 255 }),
  callId: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  /** On both sides of what is copied at once. */
  size: fc.oneof(fc.nat(600), fc.integer({ min: 4_000, max: 4_200 }), fc.integer({ min: 10_000, max: 70_000 })),
});

it('holds the frames that were added, in order, as one field of protobuf', () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 12 }), fc.nat(20_000), (frames, expectedBytes) => {
      const batch = new FrameBatch(expectedBytes);
      for (const { head, callId, size } of frames) batch.add(head, callId, Buffer.alloc(size, callId));
      const { length } = batch;
      const message = batch.toMessage();
      const read: typeof frames = [];
      readFrames(framesOf(message) ?? Buffer.from('?'), {
        onFrame: (head, callId, payload) => {
          expect(payload.equals(Buffer.alloc(payload.length, callId))).toBe(true);
          read.push({ head, callId, size: payload.length });
        },
      });
      expect(read).toEqual(frames);
      expect(fromBinary(OpenRequestSchema, message).frames).toHaveLength(length);
    }),
  );
});
