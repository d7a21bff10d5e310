import type { FormatName, Simulator } from '@gateway/simulator';
import { roomSeconds } from '@gateway/testkit/room';

interface PoolPlan {
  readonly name: string;
  readonly format: FormatName;
  readonly accounts: number;
  /** The most simultaneous requests of each account. Default: unlimited. */
  readonly cap?: number;
  /** Nothing listens at its address. */
  readonly isClosed?: boolean;
  /** Its accounts have grants, which give them access tokens. */
  readonly hasGrants?: boolean;
}

/** Limits that report their end, each in another way. A pool for each. */
export const givenLimits = [
  { preset: 'rate_limited_retry_after', format: 'responses' },
  { preset: 'rate_limited_retry_after_ms', format: 'responses' },
  { preset: 'rate_limited_retry_after_date', format: 'messages' },
  { preset: 'rate_limited_ratelimit_headers', format: 'messages' },
  { preset: 'usage_limit_reached', format: 'responses' },
  { preset: 'codex_window_exhausted', format: 'responses' },
  { preset: 'unified_rejected', format: 'messages' },
  { preset: 'unified_transient', format: 'messages' },
] as const;

/** Pools of one test each. Each has a class of its name. */
const scenarioPools = [
  { name: 'capped', format: 'responses', accounts: 3, cap: 3 },
  { name: 'frozen', format: 'messages', accounts: 2, cap: 4 },
  { name: 'sessions', format: 'responses', accounts: 5 },
  { name: 'first', format: 'responses', accounts: 1 },
  { name: 'second', format: 'messages', accounts: 2 },
  { name: 'lonely', format: 'messages', accounts: 1, hasGrants: true },
  { name: 'orphaned', format: 'messages', accounts: 1, hasGrants: true },
  { name: 'renewed', format: 'messages', accounts: 3, hasGrants: true },
  { name: 'closed', format: 'messages', accounts: 5, isClosed: true },
  { name: 'resetting', format: 'messages', accounts: 5 },
  { name: 'late', format: 'messages', accounts: 2 },
  { name: 'stalling', format: 'messages', accounts: 2 },
  { name: 'odd', format: 'messages', accounts: 2 },
  { name: 'endless', format: 'messages', accounts: 2 },
  { name: 'refused', format: 'responses', accounts: 3 },
  { name: 'forbidden', format: 'messages', accounts: 3 },
  { name: 'limited', format: 'responses', accounts: 3 },
  { name: 'guessed', format: 'responses', accounts: 2 },
  { name: 'rejecting', format: 'responses', accounts: 2 },
  { name: 'denying', format: 'messages', accounts: 2 },
  { name: 'broken', format: 'responses', accounts: 12 },
  { name: 'overloaded', format: 'messages', accounts: 12 },
  { name: 'silent', format: 'messages', accounts: 1 },
  { name: 'mute', format: 'responses', accounts: 1 },
  { name: 'pages', format: 'responses', accounts: 5 },
  { name: 'papers', format: 'messages', accounts: 5 },
] as const satisfies readonly PoolPlan[];

export type ScenarioPool = (typeof scenarioPools)[number]['name'] | `given-${(typeof givenLimits)[number]['preset']}`;

/**
 * Models of the Responses pool with an account of their own: `POST /v1/responses` accepts no
 * classes.
 */
const lonelyModels = ['gpt-first', 'gpt-breaking'] as const;

export const responsesModels: readonly string[] = ['gpt-5.5', ...lonelyModels];

const testPools: readonly PoolPlan[] = [
  ...scenarioPools,
  ...givenLimits.map(({ preset, format }) => ({ name: `given-${preset}`, format, accounts: 2 })),
];

/** The pools that the load uses, then those of the tests. */
const pools: readonly PoolPlan[] = [
  { name: 'responses', format: 'responses', accounts: 2 },
  { name: 'messages', format: 'messages', accounts: 2 },
  ...testPools,
];

const modelOf = { responses: 'gpt-5.5', messages: 'claude-sonnet-5' } as const;

/**
 * The credentials of a pool's accounts at the simulated provider. They must never reach a client or
 * a log.
 */
export function accountsOf(pool: ScenarioPool | (typeof lonelyModels)[number]): readonly string[] {
  const plan = testPools.find(({ name }) => name === pool);
  return Array.from({ length: plan?.accounts ?? 1 }, (_, index) => credentialOf(pool, index));
}

export const secretWord = 'secret-of-';

/** The number of further attempts after errors that each broker always allows. */
export const retryFloorPerSecond = 1;

/** A short lease, so that leases of dead processes expire soon. */
export const leaseTtlSeconds = roomSeconds(10);

export function poolsGatewayFile({ url, oauth }: Simulator): string {
  const classes: readonly (readonly [string, readonly string[]])[] = [
    ['sterk', ['responses/gpt-5.5', 'messages/claude-sonnet-5']],
    ['claude', ['messages/claude-sonnet-5']],
    ['either', ['first/gpt-5.5', 'second/claude-sonnet-5']],
    ['closed-or-open', ['closed/claude-sonnet-5', 'first/gpt-5.5']],
    ...testPools.map(({ name, format }) => [name, [`${name}/${modelOf[format]}`]] as const),
  ];
  const credential = ({ name, format, hasGrants = false }: PoolPlan, index: number) => {
    const secret = credentialOf(name, index);
    if (!hasGrants) return `{ ${format === 'responses' ? 'bearer' : 'api_key'}: ${secret} }`;
    return `{ oauth: { token_url: "${url}/oauth/token", client_id: gateway, refresh_token: ${oauth.grant(secret)} } }`;
  };
  return [
    'settings:',
    '  model_list_refresh_seconds: 2',
    `  lease_ttl_seconds: ${leaseTtlSeconds}`,
    `  retry_budget_floor_per_second: ${retryFloorPerSecond}`,
    'pools:',
    ...pools.map(({ name, format, isClosed = false }) => {
      const ownedBy = format === 'responses' ? 'provider_a' : 'provider_b';
      const address = isClosed ? 'http://127.0.0.1:9/v1", model_patterns: ["none' : `${url}/v1`;
      return `  ${name}: { format: ${format}, owned_by: ${ownedBy}, base_url: "${address}"${isClosed ? ']' : ''} }`;
    }),
    'accounts:',
    ...pools.flatMap((pool) =>
      Array.from({ length: pool.accounts }, (_, index) => {
        const models = pool.name === 'responses' ? ', models: [gpt-5.5]' : '';
        const cap = pool.cap === undefined ? '' : `, max_concurrency: ${pool.cap}`;
        return `  - { pool: ${pool.name}, name: n${index}, credential: ${credential(pool, index)}${models}${cap} }`;
      }),
    ),
    ...lonelyModels.map(
      (model) =>
        `  - { pool: responses, name: ${model}, credential: { bearer: ${credentialOf(model, 0)} }, models: [${model}] }`,
    ),
    'classes:',
    ...classes.map(
      ([id, candidates]) => `  ${id}: { name: ${id}, effort: low, candidates: [${candidates.join(', ')}] }`,
    ),
    '',
  ].join('\n');
}

function credentialOf(pool: string, index: number): string {
  return `${secretWord}${pool}-${index}`;
}
