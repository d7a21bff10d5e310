import { type AccountHealth, type Cooldown, causeOf } from './account-health.ts';

/** What two memories of one account come to: of each scope and cause the cooldown that ends later. */
export function mergeHealth(one: AccountHealth, other: AccountHealth): AccountHealth {
  const merged = new Map<string, Cooldown>();
  for (const cooldown of [...one.cooldowns, ...other.cooldowns]) {
    const kind = `${causeOf(cooldown)} ${cooldown.model}`;
    const kept = merged.get(kind);
    if (kept === undefined || cooldown.untilMs > kept.untilMs) merged.set(kind, cooldown);
  }
  const { errorAverage, errorsAtMs } = one.errorsAtMs >= other.errorsAtMs ? one : other;
  return { cooldowns: [...merged.values()], errorAverage, errorsAtMs };
}
