import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BytesValueSchema, FileDescriptorProtoSchema, StructSchema } from '@bufbuild/protobuf/wkt';
import { ExecuteRequestSchema, ExecuteResponseSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  AdmitRequestSchema,
  AdmitResponseSchema,
  SettleRequestSchema,
} from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyMessage } from './__fixtures__/any-message.ts';
import { schemas } from './__fixtures__/contracts.ts';
import { isCovered } from './coverage.ts';
import { messageEncoder, partsEncoder } from './message-encoder.ts';
import { joined, MessageInParts } from './message-in-parts.ts';

function writtenByProtobufEs(schema: DescMessage, fields: Record<string, unknown>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, fields)));
}

describe('a message encoder', () => {
  it.each(schemas.map((schema) => ({ name: schema.typeName, schema })))(
    'covers $name, and writes what protobuf-es writes',
    ({ schema }) => {
      expect(isCovered(schema)).toBe(true);
      const encode = messageEncoder(schema);
      const writesTheSame = (fields: Record<string, unknown>) => {
        const expected = writtenByProtobufEs(schema, fields);
        expect(encode(fields).equals(expected)).toBe(true);
        expect(encode(create(schema, fields)).equals(expected)).toBe(true);
      };
      fc.assert(fc.property(anyMessage(schema), writesTheSame), { numRuns: 50 });
    },
  );

  it('keeps what it does not know, at every depth', () => {
    const newer = Buffer.from([0xfa, 0x3f, 2, 7, 8]);
    const written = Buffer.concat([writtenByProtobufEs(AdmitResponseSchema, { status: { localDay: 'd' } }), newer]);
    expect(messageEncoder(AdmitResponseSchema)(fromBinary(AdmitResponseSchema, written)).equals(written)).toBe(true);
    const status = Buffer.concat([Buffer.from([0x0a, newer.length]), newer]);
    expect(messageEncoder(AdmitResponseSchema)(fromBinary(AdmitResponseSchema, status)).equals(status)).toBe(true);
  });

  it('leaves schemas that it does not cover to protobuf-es', () => {
    const struct = { fields: { a: { kind: { case: 'numberValue', value: 1 } } } };
    for (const [schema, fields] of [
      [StructSchema, struct],
      [FileDescriptorProtoSchema, { name: 'n', package: 'p' }],
    ] as const) {
      expect(isCovered(schema)).toBe(false);
      expect(messageEncoder(schema)(fields).equals(writtenByProtobufEs(schema, fields))).toBe(true);
    }
  });

  it('leaves long bytes where they are, for who sends a message in parts', () => {
    const encode = partsEncoder(ExecuteRequestSchema);
    for (const size of [100_000, 0, 1_000, 16_383, 16_384]) {
      const request = { head: { requestId: 'r', affinityKey: 'k' }, body: Buffer.alloc(size, size) };
      const message = encode(request);
      expect(joined(message).equals(writtenByProtobufEs(ExecuteRequestSchema, request))).toBe(true);
      expect(message instanceof MessageInParts && message.parts.includes(request.body)).toBe(size >= 16_384);
    }
  });

  it('copies long bytes within a part, whose length stands before it', () => {
    const response = { outcome: { upstreamAnswer: { status: 1, body: Buffer.alloc(60_000, 7) } } };
    const message = partsEncoder(ExecuteResponseSchema)(response);
    expect(message).toBeInstanceOf(Buffer);
    expect(joined(message).equals(writtenByProtobufEs(ExecuteResponseSchema, response))).toBe(true);
  });

  it('writes messages of any size, one after another', () => {
    const encode = messageEncoder(BytesValueSchema);
    for (const size of [3_000_000, 0, 127, 128, 16_384, 8]) {
      const value = Buffer.alloc(size, size);
      expect(encode({ value }).equals(writtenByProtobufEs(BytesValueSchema, { value }))).toBe(true);
    }
  });

  it('refuses numbers that their field does not hold, and then goes on', () => {
    const settle = messageEncoder(SettleRequestSchema);
    expect(() => settle({ key: 'k', tokens: 2n ** 63n })).toThrow(RangeError);
    expect(() => settle({ key: 'k', tokens: 1 })).toThrow(RangeError);
    const admit = messageEncoder(AdmitRequestSchema);
    for (const requestsPerMinute of [-1, 0.5, 2 ** 32, Number.NaN]) {
      expect(() => admit({ limits: { requestsPerMinute } })).toThrow(RangeError);
    }
    expect(() => admit({ limits: 'none' })).toThrow(TypeError);
    const request = { key: 'k', limits: { requestsPerMinute: 1 } };
    expect(admit(request).equals(writtenByProtobufEs(AdmitRequestSchema, request))).toBe(true);
  });
});
