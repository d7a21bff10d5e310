import { RpcError } from '@gateway/rpc';

/** UNIMPLEMENTED. @see https://grpc.io/docs/guides/status-codes/ */
const unimplemented = 12;

/** Whether a call failed because the process at that address does not serve it. */
export function isUnimplemented(thrown: unknown): boolean {
  if (!(thrown instanceof RpcError)) return false;
  const { cause } = thrown;
  return typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === unimplemented;
}

/** The same failure in words for a person, when the process does not serve the call. */
export async function servedBy<T>(service: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (thrown) {
    if (!isUnimplemented(thrown)) throw thrown;
    throw new Error(
      `the process at GATEWAY_ADMIN_URL does not serve this. Set it to the admin port of ${service}; or unset it, stop what runs at the default address, and set DATABASE_URL.`,
      { cause: thrown },
    );
  }
}
