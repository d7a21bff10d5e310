import { HandlerContext } from './handler-context.ts';
import type { CallContext } from './service-types.ts';

/** Whether a call's signal is aborted by now. For who asks no more than that: a signal that was not read is not made for it. */
export function isAborted(context: CallContext): boolean {
  return context instanceof HandlerContext ? context.isAborted : context.signal.aborted;
}
