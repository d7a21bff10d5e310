import { type GatewayConfig, parseGatewayFile } from '@gateway/config';

/** The name of the process of the providers, and their port. */
export const providerName = 'provider';
export const providerPort = 8090;

/** Two pools of two accounts each, and classes that fail over from one pool to the other. */
export function simulatedPools(): GatewayConfig {
  return parseGatewayFile(gatewayTexts.usual, 'gateway.yaml', {});
}

/** The credentials of accounts, and the accounts. */
export const accountSecrets = ['responses', 'messages'].flatMap((pool) =>
  ['a', 'b'].flatMap((name) => [`${pool}-${name}`, `${pool}/${name}`]),
);

/**
 * Leases expire soon, so that the quiet phase of a run need not be long. Prices change at midnights
 * that a run may cross.
 */
const text = `
settings: { lease_ttl_seconds: 180 }
pools:
  responses: { format: responses, owned_by: provider_a, base_url: 'http://${providerName}:${providerPort}/v1' }
  messages: { format: messages, owned_by: provider_b, base_url: 'http://${providerName}:${providerPort}/v1' }
accounts:
  - { pool: responses, name: a, max_concurrency: 8, credential: { bearer: responses-a } }
  - { pool: responses, name: b, max_concurrency: 8, credential: { bearer: responses-b } }
  - { pool: messages, name: a, max_concurrency: 8, credential: { api_key: messages-a } }
  - { pool: messages, name: b, max_concurrency: 8, credential: { api_key: messages-b } }
prices:
  currency: EUR
  models:
    - { model: "gpt-*", input: 1.25, cached_input: 0.125, output: 10 }
    - { model: "gpt-*", from: 2026-12-01, input: 2, cached_input: 0.2, output: 11 }
    - { model: "gpt-*", from: 2027-03-29, input: 3, cached_input: 0.3, output: 12 }
    - { model: "gpt-*", from: 2027-10-31, input: 4, cached_input: 0.4, output: 13 }
    - { model: "*", input: 3, cached_input: 0.3, cache_write_5m: 3.75, cache_write_1h: 6, output: 15 }
    - { model: "*", from: 2026-12-01, input: 2, cache_write_5m: 2.5, cache_write_1h: 4, output: 9 }
classes:
  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5, messages/claude-opus-4-8] }
`;
const claude = '  claude: { name: Claude, effort: medium, candidates: [messages/claude-sonnet-5] }\n';

/** What may stand in `gateway.yaml`. */
export const gatewayTexts = {
  usual: `${text}${claude}`,
  'without claude': text,
  'fewer places': `${text}${claude}`.replaceAll('max_concurrency: 8', 'max_concurrency: 6'),
  broken: `${text}${claude}pools: twice\n`,
};
