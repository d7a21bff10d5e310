import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, StructSchema } from '@bufbuild/protobuf/wkt';
import { ExecuteRequestSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AdmitRequestSchema, AdmitResponseSchema } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { AcquireRequestSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyMessage } from './__fixtures__/any-message.ts';
import { schemas } from './__fixtures__/contracts.ts';
import { messageDecoder } from './message-decoder.ts';

const malformed = 'malformed';

function readBy(decode: (bytes: Buffer) => object, bytes: Buffer): object | typeof malformed {
  try {
    return decode(bytes);
  } catch {
    return malformed;
  }
}

/** Expects what protobuf-es makes of the bytes, down to the order of the members. */
function expectTheSame(schema: DescMessage, bytes: Buffer): void {
  const expected = readBy((bytes) => fromBinary(schema, bytes), bytes);
  const actual = readBy(messageDecoder(schema), bytes);
  expect(actual).toStrictEqual(expected);
  if (typeof actual === 'object') expect(Object.keys(actual)).toEqual(Object.keys(expected));
}

function written(schema: DescMessage, fields: Record<string, unknown>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, fields)));
}

/** Fields of any number, wire type and content, mostly such as a schema does not have or not in that form. */
const anyField = fc
  .tuple(fc.nat(40), fc.nat(7), fc.uint8Array({ maxLength: 12 }))
  .map(([number, wireType, data]) => Buffer.from([((number & 15) << 3) | wireType, data.length, ...data]));

const anyEdit = fc.record({ at: fc.nat(), byte: fc.nat(255), drops: fc.nat(2) });

describe('a message decoder', () => {
  it.each(schemas.map((schema) => ({ name: schema.typeName, schema })))(
    'reads $name as protobuf-es does, also twice in one',
    ({ schema }) => {
      fc.assert(
        fc.property(anyMessage(schema), anyMessage(schema), (one, other) => {
          expectTheSame(schema, written(schema, one));
          expectTheSame(schema, Buffer.concat([written(schema, one), written(schema, other)]));
        }),
        { numRuns: 25 },
      );
    },
  );

  it.each(schemas.map((schema) => ({ name: schema.typeName, schema })))(
    'makes of what is no $name what protobuf-es makes of it',
    ({ schema }) => {
      fc.assert(
        fc.property(anyMessage(schema), fc.array(anyEdit, { minLength: 1, maxLength: 3 }), (fields, edits) => {
          let bytes = written(schema, fields);
          for (const { at, byte, drops } of edits) {
            const index = bytes.length === 0 ? 0 : at % bytes.length;
            bytes = Buffer.concat([bytes.subarray(0, index), Buffer.of(byte), bytes.subarray(index + drops)]);
          }
          expectTheSame(schema, bytes);
        }),
        { numRuns: 40 },
      );
      fc.assert(
        fc.property(fc.array(anyField, { maxLength: 6 }), (fields) => expectTheSame(schema, Buffer.concat(fields))),
        { numRuns: 40 },
      );
    },
  );

  it('reads numbers packed and one by one', () => {
    expectTheSame(AcquireRequestSchema, Buffer.of(0x1a, 3, 1, 2, 1));
    expectTheSame(AcquireRequestSchema, Buffer.of(0x18, 1, 0x1a, 1, 2, 0x18, 1));
  });

  it('reads integers of every length as protobuf-es does', () => {
    const anyVarint = fc
      .tuple(fc.array(fc.integer({ min: 128, max: 255 }), { maxLength: 11 }), fc.nat(127))
      .map(([more, last]) => Buffer.from([...more, last]));
    fc.assert(
      fc.property(anyVarint, anyVarint, (one, other) => {
        const limits = Buffer.concat([Buffer.of(0x08), one, Buffer.of(0x10), other]);
        expectTheSame(AdmitRequestSchema, Buffer.concat([Buffer.of(0x1a, limits.length), limits]));
        expectTheSame(AdmitRequestSchema, Buffer.concat([one, other]));
      }),
      { numRuns: 500 },
    );
  });

  it('reads text that is no UTF-8 as malformed, and text with a replacement character as itself', () => {
    const key = (bytes: readonly number[]) => Buffer.from([0x0a, bytes.length, ...bytes]);
    expect(readBy(messageDecoder(AdmitRequestSchema), key([0xff]))).toBe(malformed);
    expect(readBy(messageDecoder(AdmitRequestSchema), key([...Buffer.alloc(40, 'x'), 0xc3]))).toBe(malformed);
    const replaced = key([...Buffer.from(`\ufffd${'x'.repeat(20)}\ufeff`)]);
    expect(readBy(messageDecoder(AdmitRequestSchema), replaced)).toMatchObject({
      key: `\ufffd${'x'.repeat(20)}\ufeff`,
    });
    expectTheSame(AdmitRequestSchema, replaced);
  });

  it('reads entries of maps without a key, without a value, and under the name of the prototype', () => {
    const entry = (...bytes: number[]) => Buffer.from([0x0a, bytes.length + 2, 0x22, bytes.length, ...bytes]);
    for (const bytes of [entry(), entry(0x0a, 1, 65), entry(0x12, 1, 65), entry(0x1a, 1, 65, 0x0a, 1, 66)]) {
      expectTheSame(ExecuteRequestSchema, bytes);
    }
    const prototype = entry(0x0a, 9, ...Buffer.from('__proto__'), 0x12, 1, 65);
    expect(readBy(messageDecoder(ExecuteRequestSchema), prototype)).not.toBe(malformed);
    expectTheSame(ExecuteRequestSchema, prototype);
  });

  it('gives each message lists and maps of its own', () => {
    const decode = messageDecoder(AcquireRequestSchema);
    expect(decode(Buffer.of(0x18, 1))).toMatchObject({ formats: [1] });
    expect(decode(Buffer.alloc(0))).toMatchObject({ formats: [] });
  });

  it('keeps fields of a newer contract at every depth', () => {
    const newer = Buffer.from([0xfa, 0x3f, 2, 7, 8]);
    expectTheSame(AdmitResponseSchema, Buffer.concat([Buffer.of(0x0a, newer.length), newer, newer]));
    const group = Buffer.of(0x7b, 0x08, 1, 0x7c);
    expectTheSame(AdmitResponseSchema, group);
    expectTheSame(AdmitResponseSchema, Buffer.alloc(300, 0x7b));
  });

  it('leaves schemas that it does not cover to protobuf-es', () => {
    expectTheSame(StructSchema, written(StructSchema, { fields: { a: { kind: { case: 'numberValue', value: 1 } } } }));
    expectTheSame(FileDescriptorProtoSchema, written(FileDescriptorProtoSchema, { name: 'n', package: 'p' }));
  });
});
