import type {
  AccountConfig,
  ClassConfig,
  Credential,
  GatewayConfig,
  GatewaySource,
  ModelTraits,
  PoolConfig,
  PoolFormat,
} from './gateway-config.ts';
import type { GatewayFile, ModelTraitsInput } from './gateway-schema.ts';
import { Secret } from './secret.ts';
import { toSettings } from './settings-schema.ts';

/** A checked file as the services know it: lists in the order of the file, milliseconds, secrets wrapped. Frozen. */
export function toGatewayConfig(file: GatewayFile, source?: GatewaySource): GatewayConfig {
  return deepFreeze({
    pools: Object.entries(file.pools).map(([name, pool]) => toPool(name, pool)),
    accounts: file.accounts.map(toAccount),
    classes: Object.entries(file.classes).map(([name, modelClass]) => toClass(name, modelClass)),
    settings: toSettings(file.settings),
    source,
  });
}

const defaultModelPatterns: Readonly<Record<PoolFormat, readonly string[]>> = {
  responses: ['gpt-*', 'o1*', 'o3*', 'o4*', 'codex-*'],
  messages: ['claude-*'],
};

function toPool(name: string, pool: GatewayFile['pools'][string]): PoolConfig {
  return {
    name,
    format: pool.format,
    ownedBy: pool.owned_by,
    baseUrl: pool.base_url.replace(/\/+$/, ''),
    modelPatterns: pool.model_patterns ?? defaultModelPatterns[pool.format],
    modelTraits: Object.entries(pool.models).map(([pattern, traits]) => ({ pattern, traits: toModelTraits(traits) })),
  };
}

function toModelTraits(traits: ModelTraitsInput): ModelTraits {
  return {
    efforts: traits.efforts,
    thinking: traits.thinking,
    thinkingByDefault: traits.thinking_by_default,
    leastThinking: traits.thinking_least,
    forcedToolChoice: traits.forced_tool_choice,
    structuredOutput: traits.structured_output,
    maxOutputTokens: traits.max_output_tokens,
  };
}

function toAccount({
  pool,
  name,
  credential,
  max_concurrency,
  models,
  state,
  drain,
}: GatewayFile['accounts'][number]): AccountConfig {
  return {
    pool,
    name,
    credential: toCredential(credential),
    maxConcurrency: max_concurrency,
    models,
    state: drain && state === 'active' ? 'draining' : state,
  };
}

function toCredential(credential: GatewayFile['accounts'][number]['credential']): Credential {
  if ('bearer' in credential) return { kind: 'bearer', secret: new Secret(credential.bearer) };
  if ('api_key' in credential) return { kind: 'api_key', secret: new Secret(credential.api_key) };
  const { token_url, client_id, client_secret, refresh_token, scopes } = credential.oauth;
  return {
    kind: 'oauth',
    tokenUrl: token_url,
    clientId: client_id,
    clientSecret: client_secret === undefined ? undefined : new Secret(client_secret),
    refreshToken: new Secret(refresh_token),
    scopes,
  };
}

function toClass(
  name: string,
  { name: readableName, effort, candidates }: GatewayFile['classes'][string],
): ClassConfig {
  return {
    id: `gateway/${name}`,
    name: readableName,
    effort,
    candidates: candidates.map((candidate) => {
      // Only the first slash separates: a provider's model id may hold slashes of its own.
      const slash = candidate.indexOf('/');
      return { pool: candidate.slice(0, slash), model: candidate.slice(slash + 1) };
    }),
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
