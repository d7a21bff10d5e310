import { type AccountConfig, type GatewayConfig, Secret, simulatedGatewayConfig } from '@gateway/config';

/** A gateway that runs on the built-in simulator. */
export const simulatedGateway: GatewayConfig = simulatedGatewayConfig('http://127.0.0.1:1');

/**
 * The same with providers: accounts a and b in the pools responses and messages, with the classes
 * sterk, snel and claude.
 */
export const sampleGateway: GatewayConfig = {
  ...simulatedGateway,
  pools: simulatedGateway.pools.map((pool) => ({ ...pool, simulated: false })),
};

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
