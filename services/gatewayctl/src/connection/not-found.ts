import { Code, ConnectError } from '@connectrpc/connect';

/** For `.catch()`: what does not exist is undefined. Other failures stay failures. */
export function notFoundToUndefined(thrown: unknown): undefined {
  if (!(thrown instanceof ConnectError && thrown.code === Code.NotFound)) throw thrown;
}
