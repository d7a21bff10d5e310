import { type AccountHealth, type AccountProblem, type Cooldown, causeOf, type SeenWindow } from './account-health.ts';

/** What two memories of one account come to: of each scope and cause the cooldown that ends later, the latest word on each quota. */
export function mergeHealth(one: AccountHealth, other: AccountHealth): AccountHealth {
  const cooldowns = mergeBy(
    [...one.cooldowns, ...other.cooldowns],
    (cooldown: Cooldown) => `${causeOf(cooldown)} ${cooldown.model}`,
    (cooldown) => cooldown.untilMs,
  );
  const windows = mergeBy(
    [...one.windows, ...other.windows],
    (window: SeenWindow) => `${window.name} ${window.models}`,
    (window) => window.seenAtMs,
  );
  const problem = latestProblem(one, other);
  const { errorAverage, errorsAtMs } = one.errorsAtMs >= other.errorsAtMs ? one : other;
  return { cooldowns, windows, errorAverage, errorsAtMs, problem };
}

function latestProblem({ problem: one }: AccountHealth, { problem: other }: AccountHealth): AccountProblem | undefined {
  return (one?.sinceMs ?? 0) >= (other?.sinceMs ?? 0) ? one : other;
}

/** Of each kind the item that is worth most; the first of equals. */
function mergeBy<T>(items: readonly T[], kindOf: (item: T) => string, worthOf: (item: T) => number): readonly T[] {
  const merged = new Map<string, T>();
  for (const item of items) {
    const kept = merged.get(kindOf(item));
    if (kept === undefined || worthOf(item) > worthOf(kept)) merged.set(kindOf(item), item);
  }
  return [...merged.values()];
}
