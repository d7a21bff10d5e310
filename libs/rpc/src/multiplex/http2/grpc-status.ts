import { statusNumber } from '../../status-number.ts';

/** How a stream of gRPC ended, when it was not in order. */
export class GrpcFailure extends Error {
  override readonly name = 'GrpcFailure';
  /** gRPC's number of the status. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** What headers that end a stream tell: a failure, or nothing when all went well. */
export function failureIn(fields: ReadonlyMap<string, string>): GrpcFailure | undefined {
  const status = fields.get('grpc-status');
  if (status === undefined) return failureByHttp(fields.get(':status'));
  if (status === '0') return undefined;
  const code = /^\d{1,3}$/.test(status) ? Number(status) : unknown;
  return new GrpcFailure(code, `Status ${status}: ${textOf(fields.get('grpc-message') ?? '')}`);
}

/** Whether headers that begin an answer are those of gRPC; if not, the failure that they stand for. */
export function refusalIn(fields: ReadonlyMap<string, string>): GrpcFailure | undefined {
  const isGrpc = fields.get(':status') === '200' && fields.get('content-type')?.startsWith('application/grpc') === true;
  return isGrpc ? undefined : failureByHttp(fields.get(':status'));
}

function failureByHttp(status: string | undefined): GrpcFailure {
  return new GrpcFailure(
    numberByHttp.get(status) ?? unknown,
    `The answer is not one of gRPC, with HTTP status ${status}.`,
  );
}

/** gRPC encodes everything but printable ASCII in percents. */
function textOf(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

const unknown = 2;
const permissionDenied = 7;

/** @see https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md */
const numberByHttp: ReadonlyMap<string | undefined, number> = new Map([
  ['400', statusNumber.INTERNAL],
  ['401', statusNumber.UNAUTHENTICATED],
  ['403', permissionDenied],
  ['404', statusNumber.UNIMPLEMENTED],
  ...['429', '502', '503', '504'].map((status) => [status, statusNumber.UNAVAILABLE] as const),
]);
