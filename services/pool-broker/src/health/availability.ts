import {
  type AccountHealth,
  type Cooldown,
  causeOf,
  concernsModel,
  hasPassedProbe,
  isHalfOpen,
  isRunning,
} from './account-health.ts';

/** Whether an account can take a request for a model now. */
export type Availability =
  | { readonly kind: 'available' }
  /** `cooldown` is the one that ends last. `limitOnly`: nothing but rate limits keeps it. */
  | { readonly kind: 'cooling'; readonly cooldown: Cooldown; readonly limitOnly: boolean; readonly early: EarlyProbe }
  /** A guessed cooldown has run out: one request may find out. */
  | { readonly kind: 'probe_due'; readonly cooldown: Cooldown }
  /** That request is under way; `freeAtMs` is when others need not wait for it any more. */
  | { readonly kind: 'probing'; readonly cooldown: Cooldown; readonly freeAtMs: number; readonly limitOnly: boolean };

/**
 * Whether one request may find out ahead of the end that a cooldown is over: `due` when the provider named a far moment long
 * ago, `last_resort` when we only guess, so that it should be a request that no other account can serve.
 */
export type EarlyProbe = 'not_yet' | 'due' | 'last_resort';

/** `model` empty asks for the account as a whole: cooldowns of single models do not count. */
export function availabilityOf(health: AccountHealth, model: string, nowMs: number): Availability {
  // Most accounts have nothing that keeps them.
  if (health.cooldowns.length === 0) return available;
  const concerning = health.cooldowns.filter((cooldown) => concernsModel(cooldown, model));
  const running = concerning.filter((cooldown) => isRunning(cooldown, nowMs));
  const last = latest(running);
  if (last !== undefined) {
    return { kind: 'cooling', cooldown: last, limitOnly: running.every(isLimit), early: earlyProbeOf(running, nowMs) };
  }

  const halfOpen = concerning.filter((cooldown) => isHalfOpen(cooldown, nowMs) && !hasPassedProbe(cooldown, nowMs));
  const probed = halfOpen.find(({ probe }) => probe !== undefined && nowMs < probe.expiresAtMs);
  if (probed?.probe !== undefined) {
    const { expiresAtMs } = probed.probe;
    return { kind: 'probing', cooldown: probed, freeAtMs: expiresAtMs, limitOnly: halfOpen.every(isLimit) };
  }
  const [due] = halfOpen;
  return due === undefined ? available : { kind: 'probe_due', cooldown: due };
}

const available: Availability = { kind: 'available' };

function earlyProbeOf(running: readonly Cooldown[], nowMs: number): EarlyProbe {
  const isDue = running.every(({ probeFromMs }) => probeFromMs !== undefined && nowMs >= probeFromMs);
  if (!isDue) return 'not_yet';
  return running.every(({ givenByProvider }) => givenByProvider) ? 'due' : 'last_resort';
}

function latest(cooldowns: readonly Cooldown[]): Cooldown | undefined {
  return cooldowns.reduce<Cooldown | undefined>(
    (last, cooldown) => (last === undefined || cooldown.untilMs > last.untilMs ? cooldown : last),
    undefined,
  );
}

function isLimit(cooldown: Cooldown): boolean {
  return causeOf(cooldown) === 'limit';
}
