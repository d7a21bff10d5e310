import type { GatewayConfig } from '@gateway/config';
import { firstCurl, nextStepLines, providerLines, unservedPools, type WelcomePool } from '@gateway/presentation';
import { type IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { Pool, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { monotonicMs, sleep } from '@gateway/time';
import { tokenSha256 } from '@gateway/tokens';
import type { DataFolder } from './data-folder.ts';

export interface Welcome {
  readonly baseUrl: string;
  readonly adminUrl: string;
  /** "the token in data/admin-token" */
  readonly signInWith: string;
  /** Absent when it was shown before, or when the gateway uses a shared database. */
  readonly token: string | undefined;
  /** A label for a further token that no valid token has. */
  readonly freeLabel: string;
  /** Set when no provider account is configured. */
  readonly simulatorUrl: string | undefined;
  /** The pools that have accounts. */
  readonly pools: readonly WelcomePool[];
  /** What does not work because a pool has no account, and how to add one. */
  readonly unserved: readonly string[];
  /** A class or model that clients can use. Undefined: none is known yet. */
  readonly model: string | undefined;
  /**
   * The settings with which gatewayctl finds this gateway from another terminal. Empty: it needs
   * none.
   */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * The text that a person sees once the gateway runs: its addresses, a command to paste, and what to
 * do next.
 */
export function welcomeText(welcome: Welcome): string {
  const { baseUrl, adminUrl, signInWith, token, freeLabel, simulatorUrl, pools, unserved, model, settings } = welcome;
  return [
    '',
    `  The gateway listens on  ${baseUrl}`,
    `  Console                 ${adminUrl}   sign in with ${signInWith}`,
    ...providerLines(simulatorUrl, pools, unserved),
    token === undefined
      ? `  Issue a token           npx gatewayctl token issue --label ${freeLabel}   (or in the console)`
      : `  Token                   ${token}${simulatorUrl === undefined ? '   (shown only once)' : ''}`,
    '',
    '  Try it:',
    '',
    firstCurl(baseUrl, token, model),
    '',
    ...nextStepLines(settings),
    '',
    '',
  ].join('\n');
}

/** What the welcome says of pools and models. */
export async function knownToBroker(
  broker: Client<typeof PoolBrokerService>,
  { pools, source }: Pick<GatewayConfig, 'pools' | 'source'>,
): Promise<Pick<Welcome, 'pools' | 'unserved' | 'model'>> {
  const { accounts } = await broker.listAccounts({});
  const used = pools
    .map(({ name, baseUrl }) => ({
      name,
      baseUrl: withoutSecrets(baseUrl),
      accounts: accounts.filter(({ pool }) => pool === name).length,
    }))
    .filter((pool) => pool.accounts > 0);
  const reports = await firstReports(broker, used);
  const { models } = await broker.listModels({});
  const all = [...reports.values()].map(({ name, format }) => ({
    ...{ name, format },
    accounts: accounts.filter(({ pool }) => pool === name),
  }));
  return {
    pools: used.map((pool) => ({ ...pool, models: outcomeOf(reports.get(pool.name)) })),
    unserved: unservedPools(all).flatMap(({ name, format, text }) => [text, remedyOf(name, format, source?.path)]),
    model: models[0]?.id,
  };
}

function remedyOf(pool: string, format: ProviderFormat, file: string | undefined): string {
  const isMessages = format === ProviderFormat.MESSAGES;
  const key = isMessages ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY';
  const command = `npx gatewayctl account add ${pool}/main${isMessages ? ' --kind api_key' : ''}`;
  return `To use it, ${file === undefined ? `set ${key}` : `add an account to ${file}`}, or run ${command}`;
}

/** A URL may have a password, or a key in its query. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Waits for the first report on each pool's models, but not for providers that do not answer. */
async function firstReports(broker: Client<typeof PoolBrokerService>, used: readonly Pick<WelcomePool, 'name'>[]) {
  const giveUpAtMs = monotonicMs() + longestWaitMs;
  for (;;) {
    const { pools } = await broker.listPools({});
    const reports = new Map(pools.map((pool) => [pool.name, pool]));
    const isComplete = used.every(({ name }) => reports.get(name)?.modelsReportedAtMs !== undefined);
    if (isComplete || monotonicMs() >= giveUpAtMs) return reports;
    await sleep(50);
  }
}

const longestWaitMs = 3_000;

function outcomeOf(pool: Pool | undefined): string {
  if (pool?.modelsReportedAtMs === undefined) return 'its model list has not arrived yet';
  if (pool.modelListFailure !== '') return `its model list can't be read: ${pool.modelListFailure}`;
  return pool.modelCount === 1 ? '1 model' : `${pool.modelCount} models`;
}

/**
 * A token for a new gateway. With simulated providers it is kept in the data folder and shown at
 * every start. With real providers it is shown at the first start only, and stored nowhere:
 * undefined when one already existed.
 */
export async function firstToken(
  identity: Client<typeof IdentityService>,
  data: DataFolder,
  isSimulated: boolean,
): Promise<string | undefined> {
  const file = 'first-token';
  const kept = await data.read(file);
  if (kept !== undefined) {
    if (!isSimulated) return undefined;
    const { token } = await identity.resolve({ tokenSha256: tokenSha256(kept) });
    if (token !== undefined) return kept;
  }
  const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000 };
  const label = await freeLabel(identity, 'first token');
  const { tokenText } = await identity.issue({ kind: TokenKind.SERVICE, label, limits });
  await data.write(file, isSimulated ? tokenText : 'shown once, at the first start');
  return tokenText;
}

/** The label, or the label with a number if a valid token has it: "my-first", "my-first-2". */
export async function freeLabel(identity: Client<typeof IdentityService>, label: string): Promise<string> {
  const { tokens } = await identity.list({ search: label });
  const taken = new Set(tokens.map((token) => token.label));
  for (let number = 1; ; number++) {
    const free = number === 1 ? label : `${label}-${number}`;
    if (!taken.has(free)) return free;
  }
}
