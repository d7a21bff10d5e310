import { Code, ConnectError } from '@connectrpc/connect';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';

/** Why a call failed, in words for the person who made it. */
export interface Problem {
  readonly text: string;
  /**
   * Problems of the input, by the field of the request:
   * `{ label: '…', 'limits.requestsPerMinute': '…' }`.
   */
  readonly fields: Readonly<Record<string, string>>;
  readonly kind: 'input' | 'conflict' | 'not found' | 'signed out' | 'forbidden' | 'unreachable' | 'other';
}

export function problemOf(thrown: unknown): Problem {
  const error = ConnectError.from(thrown);
  const invalid = error.findDetails(InvalidFieldsSchema).flatMap((detail) => detail.fields);
  const fields = Object.fromEntries(invalid.map(({ field, text }) => [field, text]));
  const kind = kinds[error.code] ?? 'other';
  if (kind === 'unreachable')
    return { kind, fields, text: 'The gateway is unreachable. The console retries automatically.' };
  return { kind, fields, text: invalid.length > 0 ? 'Some fields are invalid.' : error.rawMessage };
}

const kinds: Readonly<Partial<Record<Code, Problem['kind']>>> = {
  [Code.InvalidArgument]: 'input',
  [Code.OutOfRange]: 'input',
  [Code.Aborted]: 'conflict',
  [Code.NotFound]: 'not found',
  [Code.Unauthenticated]: 'signed out',
  [Code.PermissionDenied]: 'forbidden',
  [Code.Unavailable]: 'unreachable',
  [Code.Unknown]: 'unreachable',
  [Code.DeadlineExceeded]: 'unreachable',
};

/** Whether the same call may succeed in a moment. */
export function mayPass(thrown: unknown): boolean {
  return problemOf(thrown).kind === 'unreachable';
}
