import { z } from 'zod';

/** The settings of pools: `settings` in gateway.yaml. Every default is safe to keep. */
export const settingsSchema = z
  .strictObject({
    rate_limit_cooldown_seconds: seconds(
      5,
      'First guess after a 429 that names no reset; doubles with each further one.',
    ),
    rate_limit_cooldown_max_seconds: seconds(600, 'The longest such guess.'),
    given_cooldown_max_seconds: seconds(691_200, "The furthest reset that a provider's word is taken for."),
    unauthorized_cooldown_seconds: seconds(
      600,
      'First pause of an account whose credential was refused; doubles while its probes are refused.',
    ),
    unauthorized_cooldown_max_seconds: seconds(3_600, 'The longest such pause.'),
    lack_cooldown_seconds: seconds(
      600,
      'How long an account is not asked for a model, or a feature, that its provider does not give it; doubles while that goes on.',
    ),
    lack_cooldown_max_seconds: seconds(21_600, 'The longest such time.'),
    error_cooldown_seconds: seconds(
      2,
      'First pause of an account after repeated errors; doubles while its probes fail.',
    ),
    error_cooldown_max_seconds: seconds(60, 'The longest such pause.'),
    error_threshold: share(0.5, 'Share of recent attempts that may fail before an account pauses.'),
    cooldown_jitter: share(0.2, 'Guessed cooldowns are lengthened at random by up to this share.'),
    probe_timeout_seconds: seconds(30, 'How long a probe of which nothing is heard keeps others away.'),
    limit_probe_quiet_seconds: seconds(
      3,
      'A probe of a limited account that did not fail for so long has passed: providers report limits at once.',
    ),
    early_probe_interval_seconds: seconds(
      600,
      'How often one request asks an account whether a long reset that its provider named came early.',
    ),
    last_resort_probe_interval_seconds: seconds(
      30,
      'How long a guessed cooldown keeps away even requests that no other account can serve.',
    ),
    pool_pause_seconds: seconds(
      2,
      'First pause of a pool whose provider is overloaded or out of reach; doubles while that goes on.',
    ),
    pool_pause_max_seconds: seconds(30, 'The longest such pause.'),
    pool_probe_quiet_seconds: seconds(5, 'A probe of a paused pool that did not fail for so long has passed.'),
    pool_failure_window_seconds: seconds(
      10,
      'Failures further apart than this do not count together as a failure of the pool.',
    ),
    pool_failure_accounts: z
      .int()
      .min(1)
      .max(1_000)
      .default(10)
      .describe('How many accounts must fail for it to be a failure of the pool. All of them, in a smaller pool.'),
    overload_confirm_seconds: seconds(1, 'How long an overload must last, with nothing served, to pause the pool.'),
    network_confirm_seconds: seconds(15, 'How long the provider must be out of reach to pause the pool.'),
    quota_reserve_share: share(0.02, 'Accounts with no more than this share of a quota left serve when no other can.'),
    caller_reserve_share: share(0.1, 'Share of a pool that is kept for callers that have less than their part of it.'),
    caller_memory_seconds: seconds(300, 'How long a caller that asks for nothing counts as one who shares a pool.'),
    max_error_attempts: z.int().min(1).max(20).default(3).describe('Attempts of one request that may end in an error.'),
    retry_budget_share: share(0.1, 'Share of requests that may be spent on further attempts after errors.'),
    retry_budget_floor_per_second: z
      .number()
      .min(0)
      .default(10)
      .describe('Further attempts allowed in any case, by each replica of the pool broker.'),
    affinity_ttl_seconds: seconds(3_600, 'How long a session stays with its account after its last success.'),
    lease_ttl_seconds: seconds(
      900,
      'When a request stops counting as under way whose edge neither ends nor renews it. Edges renew at a third of it.',
    ),
    model_list_refresh_seconds: z
      .number()
      .min(1)
      .max(86_400)
      .default(60)
      .describe('How often adapters read and report model lists; 3 times as long without one means unreachable.'),
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
