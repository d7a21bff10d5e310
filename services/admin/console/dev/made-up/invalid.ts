import { Code, ConnectError } from '@connectrpc/connect';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';

/** Refuses input as the gateway does, field by field. */
export function invalid(problems: Readonly<Record<string, string>>): ConnectError {
  const fields = Object.entries(problems).map(([field, text]) => ({ field, text }));
  return new ConnectError('Some fields are invalid.', Code.InvalidArgument, undefined, [
    { desc: InvalidFieldsSchema, value: { fields } },
  ]);
}
