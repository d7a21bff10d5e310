import { type DescField, ScalarType } from '@bufbuild/protobuf';
import type { WireReader } from './wire-reader.ts';
import type { WireWriter } from './wire-writer.ts';

/** How the values of one scalar type are written and read. */
export interface ScalarCoding {
  readonly wireType: 0 | 1 | 2;
  /** Throws RangeError for a number that the type does not hold. */
  write(writer: WireWriter, value: unknown): void;
  /** Whether the value is left out where zero and absent are the same. */
  isZero(value: unknown): boolean;
  read(reader: WireReader): unknown;
  /** What an entry of a map has whose value was left out. */
  zero(): unknown;
}

/** The scalar types that messages between our services have. */
export const scalarCodings: ReadonlyMap<ScalarType, ScalarCoding> = new Map<ScalarType, ScalarCoding>([
  [
    ScalarType.STRING,
    {
      wireType: 2,
      write: (writer, value) => writer.string(String(value)),
      isZero: (value) => value === '',
      read: (reader) => reader.string(),
      zero: () => '',
    },
  ],
  [
    ScalarType.BYTES,
    {
      wireType: 2,
      write: (writer, value) => writer.bytes(asBytes(value)),
      isZero: (value) => isEmptyBytes(value),
      read: (reader) => reader.bytes(),
      zero: () => new Uint8Array(0),
    },
  ],
  [
    ScalarType.BOOL,
    {
      wireType: 0,
      write: (writer, value) => writer.varint(value ? 1 : 0),
      isZero: (value) => value === false,
      read: (reader) => reader.bool(),
      zero: () => false,
    },
  ],
  [
    ScalarType.INT32,
    {
      wireType: 0,
      write: (writer, value) => writeInt32(writer, value),
      isZero: (value) => value === 0,
      read: (reader) => reader.int32(),
      zero: () => 0,
    },
  ],
  [
    ScalarType.UINT32,
    {
      wireType: 0,
      write: (writer, value) => writer.varint(inRange(value, 0, 0xff_ff_ff_ff)),
      isZero: isNumberZero,
      read: (reader) => reader.uint32(),
      zero: () => 0,
    },
  ],
  [
    ScalarType.INT64,
    {
      wireType: 0,
      write: (writer, value) => writer.varint64(in64Bits(value, BigInt.asIntN)),
      isZero: isIntegerZero,
      read: (reader) => reader.int64(),
      zero: () => 0n,
    },
  ],
  [
    ScalarType.UINT64,
    {
      wireType: 0,
      write: (writer, value) => writer.varint64(in64Bits(value, BigInt.asUintN)),
      isZero: isIntegerZero,
      read: (reader) => reader.uint64(),
      zero: () => 0n,
    },
  ],
  [
    ScalarType.DOUBLE,
    {
      wireType: 1,
      write: (writer, value) => writer.double(Number(value)),
      isZero: (value) => Object.is(value, 0),
      read: (reader) => reader.double(),
      zero: () => 0,
    },
  ],
]);

/** How the values of a field are written and read; enums as numbers. */
export function codingOf(field: DescField): ScalarCoding {
  const coding = scalarCodings.get(field.scalar ?? ScalarType.INT32);
  if (coding === undefined) throw new Error(`${field.toString()} has a type that is not covered`);
  return coding;
}

function asBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError('a field of bytes holds something else');
}

function isEmptyBytes(value: unknown): boolean {
  return value instanceof Uint8Array && value.length === 0;
}

function writeInt32(writer: WireWriter, value: unknown): void {
  const number = inRange(value, -(2 ** 31), 2 ** 31 - 1);
  if (number >= 0) writer.varint(number);
  else writer.varint64(BigInt(number));
}

function inRange(value: unknown, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${String(value)} is not an integer from ${least} to ${most}`);
}

function in64Bits(value: unknown, wrap: (bits: number, value: bigint) => bigint): bigint {
  if (typeof value === 'bigint' && wrap(64, value) === value) return value;
  throw new RangeError(`${String(value)} is not an integer of 64 bits`);
}

function isNumberZero(value: unknown): boolean {
  return value === 0;
}

function isIntegerZero(value: unknown): boolean {
  return value === 0n;
}
