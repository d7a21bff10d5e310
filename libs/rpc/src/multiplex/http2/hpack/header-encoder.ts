import type { HeaderField } from './static-table.ts';

/** A header block that neither refers to others nor is referred to: every field is told in full, uncompressed. */
export function encodeHeaders(fields: readonly HeaderField[]): Buffer {
  const parts = fields.flatMap(({ name, value }) => [literalField, ...stringOf(name), ...stringOf(value)]);
  return Buffer.concat([withoutTable, ...parts]);
}

/** Sets the size of the table to nothing, which is right whatever the peer has set. */
const withoutTable = Buffer.of(0x20);

/** A literal field without indexing, whose name is told. */
const literalField = Buffer.of(0);

function stringOf(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  return [lengthOf(bytes.length), bytes];
}

function lengthOf(length: number): Buffer {
  if (length < 0x7f) return Buffer.of(length);
  const bytes = [0x7f];
  let rest = length - 0x7f;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
