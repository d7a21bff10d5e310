import { type AccountConfig, type GatewayConfig, Secret, simulatedGatewayConfig } from '@gateway/config';

/**
 * The simulated gateway: accounts a and b in the pools responses and messages, with the classes
 * sterk, snel and claude.
 */
export const sampleGateway: GatewayConfig = simulatedGatewayConfig('http://127.0.0.1:1');

export const sampleSettings = sampleGateway.settings;

export function sampleAccount(pool: string, name: string, rest: Partial<AccountConfig> = {}): AccountConfig {
  return {
    pool,
    name,
    credential: { kind: 'bearer', secret: new Secret(`secret-of-${pool}-${name}`) },
    maxConcurrency: undefined,
    models: undefined,
    state: 'active',
    ...rest,
  };
}

/** The sample gateway with other accounts. */
export function gatewayWith(accounts: readonly AccountConfig[], rest: Partial<GatewayConfig> = {}): GatewayConfig {
  return { ...sampleGateway, accounts, ...rest };
}
