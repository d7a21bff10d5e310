import { RpcError } from './rpc-error.ts';
import type { CallOptions } from './service-types.ts';

/** The signal of one call: its caller's, its deadline's, and its own. Release it when the call has ended. */
export interface CallSignal {
  readonly signal: AbortSignal;
  /** Aborts the signal for whoever still works on the call, and drops the deadline's timer. */
  release(): void;
}

/** Joins a caller's signal and deadline into the one signal that a handler sees. */
export function callSignal(options: CallOptions): CallSignal {
  const controller = new AbortController();
  const cancel = () => controller.abort(new RpcError('cancelled', 'The caller cancelled the call.'));
  if (options.signal?.aborted) cancel();
  options.signal?.addEventListener('abort', cancel, { once: true });
  const timer = deadlineTimer(controller, options.timeoutMs);
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', cancel);
      controller.abort(callEnded);
    },
  };
}

// One for all calls: making an error costs a stack trace, and every call ends.
const callEnded = new RpcError('cancelled', 'The call has ended.');

/** The reason of an aborted call as an error that callers know. */
export function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof RpcError
    ? signal.reason
    : new RpcError('cancelled', 'The call was cancelled.', { cause: signal.reason });
}

function deadlineTimer(controller: AbortController, timeoutMs: number | undefined): NodeJS.Timeout | undefined {
  if (timeoutMs === undefined) return undefined;
  return setTimeout(
    () => controller.abort(new RpcError('deadline_exceeded', `The call took longer than ${timeoutMs} ms.`)),
    timeoutMs,
  );
}
