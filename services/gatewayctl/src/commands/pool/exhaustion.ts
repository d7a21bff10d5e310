import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Account } from '@gateway/proto/pool/v1/account_pb.js';

/** When a pool will have used up its quotas, if it goes on as it did since they began. */
export type Exhaustion =
  /** Nothing is known of how fast any quota is used. */
  | { readonly kind: 'unknown' }
  /** The quotas are renewed faster than they are used. */
  | { readonly kind: 'never' }
  /** No account can be used then, for the most part because of `window`; empty when it is cooldowns. It may be now. */
  | { readonly kind: 'at'; readonly atMs: number; readonly window: string };

/**
 * Lets the load go on from one change to the next: accounts come back, windows begin anew or are used up. A pool that lasts until
 * each window has begun anew lasts for ever. Accounts that reported no quota are left out.
 *
 * @param models pattern of a family, whose quotas count besides those of whole accounts; empty for requests of no family.
 */
export function exhaustionOf(accounts: readonly Account[], models: string, nowMs: number): Exhaustion {
  const supplies = accounts.map((account) => toSupply(account, models)).filter(({ windows }) => windows.length > 0);
  if (supplies.length === 0) return { kind: 'unknown' };
  const loads = loadsOf(supplies, nowMs);
  const lastMs = nowMs + Math.max(...supplies.flatMap(({ windows }) => windows.map(({ lengthMs }) => lengthMs)));
  let now = nowMs;
  for (let step = 0; step < mostSteps; step++) {
    const shares = sharesOf(supplies, now);
    if (shares.every((share) => share === 0)) return { kind: 'at', atMs: now, window: mostSpent(supplies) };
    const running = supplies.flatMap(({ windows }, index) =>
      windows.map((window) => ({ window, speed: (shares[index] ?? 0) * (loads.get(window.name) ?? 0) })),
    );
    const changes = [
      ...supplies.map(({ usableFromMs }) => usableFromMs),
      ...running.map(({ window }) => window.resetsAtMs),
      ...running.flatMap(({ window, speed }) => (speed === 0 ? [] : [now + window.left / speed])),
    ];
    const next = Math.max(now + 1, Math.min(...changes.filter((atMs) => atMs > now)));
    if (next > lastMs) break;
    for (const { window, speed } of running) {
      const isRenewed = window.resetsAtMs <= next;
      window.left = isRenewed ? 1 : Math.max(0, window.left - speed * (next - now));
      if (isRenewed) window.resetsAtMs += window.lengthMs;
    }
    now = next;
  }
  return { kind: 'never' };
}

/** More changes than any pool sees before each of its windows has begun anew. */
const mostSteps = 50_000;

/** What one account has left. The estimate moves it on in time. */
interface Supply {
  readonly usableFromMs: number;
  readonly windows: readonly RunningWindow[];
}

interface RunningWindow {
  readonly name: string;
  /** Share of the window, 0 to 1. */
  left: number;
  resetsAtMs: number;
  readonly lengthMs: number;
}

function toSupply({ cooldowns, windows }: Account, models: string): Supply {
  // Only cooldowns of the whole account keep it.
  const ends = cooldowns.flatMap(({ model, until }) => (model === '' && until ? [timestampMs(until)] : []));
  const running = windows
    .filter((window) => window.models === '' || window.models === models)
    .flatMap(({ name, usedFraction, resetsAt, lengthSeconds }) => {
      if (resetsAt === undefined || lengthSeconds === 0) return [];
      const left = Math.min(1, Math.max(0, 1 - usedFraction));
      return [{ name, left, resetsAtMs: timestampMs(resetsAt), lengthMs: lengthSeconds * 1_000 }];
    });
  return { usableFromMs: Math.max(0, ...ends), windows: running };
}

/** Of each kind of window, the share that goes in a millisecond when one account carries all of the load, on average so far. */
function loadsOf(supplies: readonly Supply[], nowMs: number): ReadonlyMap<string, number> {
  const all = supplies.flatMap(({ windows }) => windows);
  const loads = [...Map.groupBy(all, ({ name }) => name)].map(([name, ofName]) => {
    const used = ofName.reduce((sum, window) => sum + speedOf(window, nowMs), 0);
    // Accounts without such a window carry load as well, which others would feel in theirs.
    return [name, (used * supplies.length) / ofName.length] as const;
  });
  return new Map(loads);
}

function speedOf({ left, resetsAtMs, lengthMs }: RunningWindow, nowMs: number): number {
  const elapsedMs = nowMs - (resetsAtMs - lengthMs);
  // In less time a window says nothing of a speed.
  return elapsedMs < 60_000 ? 0 : (1 - left) / elapsedMs;
}

/** How much of the load each account takes: load goes where something is left. 0 for one that can't be used. */
function sharesOf(supplies: readonly Supply[], nowMs: number): readonly number[] {
  const headrooms = supplies.map(({ usableFromMs, windows }) => {
    const left = Math.min(...windows.map((window) => window.left));
    return usableFromMs <= nowMs && left > nothing ? left : 0;
  });
  const total = headrooms.reduce((sum, headroom) => sum + headroom, 0);
  return headrooms.map((headroom) => (total === 0 ? 0 : headroom / total));
}

/** Rounding leaves no more than this of what is used up. */
const nothing = 1e-9;

/** The kind of window that is used up on most accounts; empty when none is. */
function mostSpent(supplies: readonly Supply[]): string {
  const spent = supplies.flatMap(({ windows }) => windows.filter(({ left }) => left <= nothing));
  const byName = [...Map.groupBy(spent, ({ name }) => name)].sort(([, one], [, other]) => other.length - one.length);
  return byName[0]?.[0] ?? '';
}
