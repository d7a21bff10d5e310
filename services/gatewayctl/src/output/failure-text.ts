import { ConfigError } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { RpcError } from '@gateway/rpc';

/** The text that a person at the terminal sees when a command fails: what is wrong, and what to do. */
export function failureText(thrown: unknown): string {
  if (thrown instanceof ConfigError) return thrown.problems.map((problem) => `gatewayctl: ${problem}`).join('\n');
  if (thrown instanceof GatewayError) return `gatewayctl: ${thrown.message}`;
  if (isRefusedByName(thrown)) {
    return 'gatewayctl: the gateway does not take calls under the host name in its address. Use its IP address, or add the name to its setting ADMIN_ALLOWED_HOSTS.';
  }
  if (thrown instanceof RpcError) {
    return `gatewayctl: the gateway did not answer (${thrown.message}). Is it running, and is GATEWAY_ADMIN_URL right?`;
  }
  return `gatewayctl: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}

/** HTTP 403, as Connect has it. @see https://connectrpc.com/docs/protocol/#http-to-error-code */
const permissionDenied = 7;

function isRefusedByName(thrown: unknown): boolean {
  if (!(thrown instanceof RpcError)) return false;
  const { cause } = thrown;
  return typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === permissionDenied;
}
