import { GatewayError } from '@gateway/errors';
import { RpcError } from './rpc-error.ts';

/** Told of every failure of a handler that is a fault of ours, with the request's id where the call's one request has it. */
export type OnFault = (method: string, fault: unknown, requestId: string | undefined) => void;

/** Whether a failure is our own: neither an answer of the public table nor something that happened on the way. */
export function isFault(thrown: unknown): boolean {
  if (thrown instanceof RpcError) return false;
  return !(thrown instanceof GatewayError) || thrown.code === 'internal_error';
}

/** The id of the client's request that a call is part of. */
export function requestIdOf(request: object | undefined): string | undefined {
  if (request === undefined || !('requestId' in request)) return undefined;
  return typeof request.requestId === 'string' && request.requestId !== '' ? request.requestId : undefined;
}
