import { parseDocument, stringify } from 'yaml';
import { type Environment, type EnvReader, readSettings } from './env-reader.ts';
import type { AccountConfig, GatewayConfig, PoolFormat } from './gateway-config.ts';
import { type GatewayFileInput, gatewayFileSchema } from './gateway-schema.ts';
import { asWritten } from './written-gateway.ts';

/**
 * The configuration without a `gateway.yaml`: one account for each API key that is set.
 * @throws ConfigError for a key that can't be sent in a header.
 */
export function defaultGatewayConfig(env: Environment): GatewayConfig {
  const [openaiKey, anthropicKey] = readSettings(env, (reader) =>
    Object.values(keyVariables).map((name) => readKey(reader, name)),
  );
  const accounts: Accounts = [];
  if (openaiKey) accounts.push({ pool: 'responses', name: 'default', credential: { bearer: openaiKey } });
  if (anthropicKey) accounts.push({ pool: 'messages', name: 'default', credential: { api_key: anthropicKey } });
  const baseUrls = { responses: 'https://api.openai.com/v1', messages: 'https://api.anthropic.com/v1' };
  return gatewayOf(baseUrls, accounts, { simulated: false });
}

/** The variables with the keys of providers. */
const keyVariables = {
  responses: 'OPENAI_API_KEY',
  messages: 'ANTHROPIC_API_KEY',
} as const satisfies Readonly<Record<PoolFormat, string>>;

/**
 * The same configuration with simulated providers. Each pool has two accounts, so that failover can
 * be observed.
 */
export function simulatedGatewayConfig(simulatorUrl: string): GatewayConfig {
  const baseUrl = `${simulatorUrl.replace(/(?<!\/)\/+$/, '')}/v1`;
  return gatewayOf(
    { responses: baseUrl, messages: baseUrl },
    ['a', 'b'].flatMap((letter) => [
      { pool: 'responses', name: `team-${letter}`, credential: { bearer: `simulated-responses-${letter}` } },
      { pool: 'messages', name: `team-${letter}`, credential: { api_key: `simulated-messages-${letter}` } },
    ]),
    { simulated: true },
  );
}

/**
 * Where an account is defined: "database", "gateway.yaml", "simulator", or the variable with its
 * key.
 */
export function accountSourceOf(
  { source, pools }: Pick<GatewayConfig, 'source' | 'pools'>,
  { pool, isStored = false }: Pick<AccountConfig, 'pool' | 'isStored'>,
): string {
  if (isStored) return 'database';
  if (source !== undefined) return 'gateway.yaml';
  const { format = 'responses', simulated = false } = pools.find(({ name }) => name === pool) ?? {};
  return simulated ? 'simulator' : keyVariables[format];
}

function readKey(reader: EnvReader, name: string): string | undefined {
  const key = reader.optional(name);
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    reader.problem(
      `${name} contains spaces or other characters that are not valid in a key. Check that you copied only the key.`,
    );
  }
  return key;
}

type Accounts = NonNullable<GatewayFileInput['accounts']>;

function gatewayOf(
  baseUrls: Readonly<Record<PoolFormat, string>>,
  accounts: Accounts,
  { simulated }: { readonly simulated: boolean },
): GatewayConfig {
  const mark = simulated ? { simulated } : {};
  const written: GatewayFileInput = {
    pools: {
      responses: { format: 'responses', owned_by: 'provider_a', base_url: baseUrls.responses, ...mark },
      messages: { format: 'messages', owned_by: 'provider_b', base_url: baseUrls.messages, ...mark },
    },
    accounts,
    classes: {
      sterk: { name: 'Sterk', effort: 'high', candidates: ['responses/gpt-5.5', 'messages/claude-opus-4-8'] },
      snel: { name: 'Snel', effort: 'low', candidates: ['responses/gpt-5.5-mini', 'messages/claude-haiku-4-5'] },
      claude: { name: 'Claude', effort: 'medium', candidates: ['messages/claude-sonnet-5'] },
    },
  };
  const text = stringify(written);
  return {
    ...gatewayFileSchema.parse(written),
    source: undefined,
    written: asWritten(text, parseDocument(text), written),
  };
}
