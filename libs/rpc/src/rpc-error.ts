export type RpcStatus = 'unavailable' | 'deadline_exceeded' | 'cancelled' | 'internal';

/**
 * A call that failed on its way, with no answer from the service: not reachable, too late, or cancelled by the caller.
 * What a service answers as an error arrives as GatewayError instead.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly status: RpcStatus;

  constructor(status: RpcStatus, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}
