import { create, type DescMessage, type Message } from '@bufbuild/protobuf';

/** A message as its schema says: fields that were left out have their defaults. A message is returned as it is. */
export function completeMessage(schema: DescMessage, fields: object): Message {
  // Answered as it is, without the closer look that create() takes.
  if ('$typeName' in fields && fields.$typeName === schema.typeName) return fields as Message;
  // Client<S> and Handlers<S> made the compiler check the fields against the schema.
  return create(schema, fields as Record<string, unknown>);
}
