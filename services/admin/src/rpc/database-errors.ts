import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { isNoAnswer } from '@gateway/errors';

/** Tells callers that the database does not answer, which is no internal error. */
export const databaseErrors: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (thrown) {
    throw databaseError(thrown);
  }
};

/** The error for callers if the database does not answer; otherwise the same error. */
export function databaseError(thrown: unknown): unknown {
  if (!isNoAnswer(thrown)) return thrown;
  return new ConnectError('The database does not answer.', Code.Unavailable, undefined, undefined, thrown);
}
