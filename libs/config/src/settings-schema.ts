import { z } from 'zod';

/** The settings of pools: `settings` in gateway.yaml. Every default is safe to keep. */
export const settingsSchema = z
  .strictObject({
    rate_limit_cooldown_seconds: seconds(
      5,
      'First cooldown after a 429 without a reset time; doubles with each further one.',
    ),
    rate_limit_cooldown_max_seconds: seconds(600, 'The longest such cooldown.'),
    given_cooldown_max_seconds: seconds(
      691_200,
      'The longest cooldown that a provider may set. Later resets are cut to it.',
    ),
    unauthorized_cooldown_seconds: seconds(
      600,
      'First cooldown of an account whose credential was rejected; doubles while probes are rejected.',
    ),
    unauthorized_cooldown_max_seconds: seconds(3_600, 'The longest such cooldown.'),
    lack_cooldown_seconds: seconds(
      600,
      'First cooldown of an account for a model or a feature that its provider does not offer to it; doubles while that lasts.',
    ),
    lack_cooldown_max_seconds: seconds(21_600, 'The longest such cooldown.'),
    error_cooldown_seconds: seconds(
      2,
      'First cooldown of an account after repeated errors; doubles while its probes fail.',
    ),
    error_cooldown_max_seconds: seconds(60, 'The longest such cooldown.'),
    error_threshold: share(0.5, 'Share of recent attempts that may fail before an account cools down.'),
    cooldown_jitter: share(
      0.2,
      'Cooldowns that the provider did not set are lengthened at random by up to this share.',
    ),
    probe_timeout_seconds: seconds(30, 'How long a probe without a result blocks other probes.'),
    limit_probe_quiet_seconds: seconds(
      3,
      'A probe of a rate-limited account succeeds if it has not failed after this time: providers report limits at once.',
    ),
    early_probe_interval_seconds: seconds(
      600,
      'How often one request probes whether an account with a long cooldown has recovered early.',
    ),
    last_resort_probe_interval_seconds: seconds(
      30,
      'How often one request may probe an account with an estimated cooldown if no other account can serve it.',
    ),
    pool_pause_seconds: seconds(
      2,
      'First pause of a pool whose provider is overloaded or unreachable; doubles while that lasts.',
    ),
    pool_pause_max_seconds: seconds(30, 'The longest such pause.'),
    pool_probe_quiet_seconds: seconds(5, 'A probe of a paused pool succeeds if it has not failed after this time.'),
    pool_failure_window_seconds: seconds(
      10,
      'Failures further apart than this do not count together as a failure of the pool.',
    ),
    pool_failure_accounts: z
      .int()
      .min(1)
      .max(1_000)
      .default(10)
      .describe('How many accounts must fail to count as a failure of the pool. In a smaller pool: all accounts.'),
    overload_confirm_seconds: seconds(1, 'How long an overload must last, without any answer, to pause the pool.'),
    network_confirm_seconds: seconds(15, 'How long the provider must be unreachable to pause the pool.'),
    quota_reserve_share: share(
      0.02,
      'Accounts with at most this share of a quota left serve only if no other account can.',
    ),
    caller_reserve_share: share(0.1, 'Share of a pool that is reserved for callers that use less than their share.'),
    caller_memory_seconds: seconds(300, 'How long a caller without requests still counts as sharing a pool.'),
    max_error_attempts: z.int().min(1).max(20).default(3).describe('Attempts of one request that may end in an error.'),
    retry_budget_share: share(0.1, 'Retry budget: further attempts after errors, as a share of requests.'),
    retry_budget_floor_per_second: z
      .number()
      .min(0)
      .default(10)
      .describe('Further attempts per second that each replica of the pool broker always allows.'),
    affinity_ttl_seconds: seconds(3_600, 'How long a session stays with its account after its last success.'),
    lease_ttl_seconds: seconds(
      900,
      'When a request no longer counts as in flight if its edge neither ends nor renews its lease. Edges renew at a third of it.',
    ),
    model_list_refresh_seconds: z
      .number()
      .min(1)
      .max(86_400)
      .default(60)
      .describe(
        'How often adapters read and report model lists. A pool without one for 3 times as long counts as unreachable.',
      ),
  })
  .superRefine(
    (settings, context) => {
      const values: Readonly<Record<string, unknown>> = settings;
      for (const [first, value] of Object.entries(values)) {
        const longest = first.replace(/_seconds$/, '_max_seconds');
        const longestValue = values[longest];
        // A value that is not a number is reported separately, without being repeated.
        if (typeof value !== 'number' || typeof longestValue !== 'number' || !(longestValue < value)) continue;
        context.addIssue({ code: 'custom', path: [longest], message: `must be at least ${first}, which is ${value}` });
      }
    },
    // Runs even when the settings have other problems, so that all are reported together.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

/**
 * The durations and shares that health and selection use: `error_cooldown_seconds` is
 * `errorCooldownMs`, `error_threshold` is `errorThreshold`.
 */
export type PoolSettings = { readonly [S in keyof z.output<typeof settingsSchema> as SettingName<S>]: number };

type SettingName<S extends string> = S extends `${infer Name}_seconds` ? `${CamelCase<Name>}Ms` : CamelCase<S>;
type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

export function toSettings(settings: z.output<typeof settingsSchema>): PoolSettings {
  const renamed = Object.entries(settings).map(([name, value]) => {
    const inSeconds = name.endsWith('_seconds');
    const words = inSeconds ? name.replace(/_seconds$/, '_ms') : name;
    return [words.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), inSeconds ? value * 1_000 : value];
  });
  return Object.fromEntries(renamed);
}

function seconds(fallback: number, text: string) {
  return z.number().positive().max(31_536_000).default(fallback).describe(text);
}

function share(fallback: number, text: string) {
  return z.number().min(0).max(1).default(fallback).describe(text);
}
