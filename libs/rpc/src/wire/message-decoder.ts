import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { isCovered } from './coverage.ts';
import { messageReader } from './message-reader.ts';
import { WireReader } from './wire-reader.ts';

/** A message from its wire form, of which its bytes stay views. Throws when it is none. */
export type MessageDecoder = (bytes: Buffer) => object;

/**
 * A decoder for the messages of a schema. It gives what `fromBinary(schema, bytes)` gives, also of unknown fields and of
 * bytes that are no such message, in less than half of the time. Schemas that have more than our contracts do are left to
 * protobuf-es.
 */
export function messageDecoder(schema: DescMessage): MessageDecoder {
  if (!isCovered(schema)) return (bytes) => fromBinary(schema, bytes);
  const messages = messageReader(schema);
  return (bytes) => {
    const message = messages.empty();
    messages.read(new WireReader(bytes), message, bytes.length, 1);
    return message;
  };
}
