import { ConfigError } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { RpcError } from '@gateway/rpc';

/** What a person at the terminal is told when a command fails: what is wrong, and what to do. */
export function failureText(thrown: unknown): string {
  if (thrown instanceof ConfigError) return thrown.problems.map((problem) => `gatewayctl: ${problem}`).join('\n');
  if (thrown instanceof GatewayError) return `gatewayctl: ${thrown.message}`;
  if (thrown instanceof RpcError) {
    return `gatewayctl: the gateway did not answer (${thrown.message}). Is it running, and is GATEWAY_ADMIN_URL right?`;
  }
  return `gatewayctl: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}
