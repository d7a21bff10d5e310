import { ConnectError, type Interceptor } from '@connectrpc/connect';
import { toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import type { Metrics } from '@gateway/telemetry';
import { codeOf, isFault, type OnFault, RpcError } from './errors.ts';
import { CallObserver } from './observed-calls.ts';

/**
 * Interceptors of a Connect server: they measure every call and convert what a handler throws to a
 * Connect error.
 */
export function serverInterceptors(metrics: Metrics, onFault: OnFault): Interceptor[] {
  return [measured(new CallObserver('server', metrics, 'connectrpc')), withConnectErrors(onFault)];
}

/**
 * The error that answers a failed call. Errors of other services are passed on; an internal error
 * reveals nothing.
 */
export function connectErrorOf(
  thrown: unknown,
  { method, signal }: { readonly method: { toString(): string }; readonly signal: AbortSignal },
  onFault: OnFault,
): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  // The signal's reason shows whether the caller disconnected or its deadline passed.
  if (signal.aborted) return ConnectError.from(signal.reason);
  if (isFault(thrown)) onFault(method.toString(), thrown, undefined);
  const error = thrown instanceof RpcError ? thrown : toGatewayError(thrown);
  const details = error instanceof RpcError ? [] : [{ desc: ErrorDetailSchema, value: toErrorDetail(error) }];
  return new ConnectError(error.message, codeOf(error), undefined, details, thrown);
}

function withConnectErrors(onFault: OnFault): Interceptor {
  return (next) => async (request) => {
    try {
      const response = await next(request);
      if (!response.stream) return response;
      const message = mended(response.message, (thrown) => connectErrorOf(thrown, request, onFault));
      return { ...response, message };
    } catch (thrown) {
      throw connectErrorOf(thrown, request, onFault);
    }
  };
}

async function* mended<T>(messages: AsyncIterable<T>, toError: (thrown: unknown) => Error): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (thrown) {
    throw toError(thrown);
  }
}

function measured(observer: CallObserver): Interceptor {
  return (next) => async (request) => {
    if (request.stream) {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: observer.observe(request.method, iterated(response.message)) };
    }
    return observer.observeOnce(request.method, () => next(request));
  };
}

async function* iterated<T>(messages: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  yield* messages;
  return undefined;
}
