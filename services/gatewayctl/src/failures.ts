import { ConfigError } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { RpcError } from '@gateway/rpc';

/** The text that a person at the terminal sees when a command fails: what is wrong, and what to do. */
export function failureText(thrown: unknown): string {
  if (thrown instanceof ConfigError) return thrown.problems.map((problem) => `gatewayctl: ${problem}`).join('\n');
  if (thrown instanceof GatewayError) return `gatewayctl: ${thrown.message}`;
  if (codeOf(thrown) === permissionDenied) {
    return 'gatewayctl: the gateway does not take calls under the host name in its address. Use its IP address, or add the name to its setting ADMIN_ALLOWED_HOSTS.';
  }
  if (thrown instanceof RpcError) {
    return `gatewayctl: the gateway did not answer (${thrown.message}). Is it running, and is GATEWAY_ADMIN_URL right?`;
  }
  return `gatewayctl: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}

/** Whether a call failed because the process at that address does not serve it. */
export function isUnimplemented(thrown: unknown): boolean {
  return codeOf(thrown) === unimplemented;
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

/** HTTP 403 and 404, as Connect has them. @see https://connectrpc.com/docs/protocol/#http-to-error-code */
const permissionDenied = 7;
const unimplemented = 12;

function codeOf(thrown: unknown): unknown {
  const cause = thrown instanceof RpcError ? thrown.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
}
