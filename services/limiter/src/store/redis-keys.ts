import type { CounterName, LimitedKey } from '@gateway/limits';

/**
 * The names in Redis of what belongs to a key. All of a key and its group share a hash tag, so that
 * a cluster accepts a script for them: braces in it would end the tag early.
 */
export function redisKeys({ key, groupKey }: LimitedKey) {
  const tag = hashTag({ key, groupKey });
  const own = groupKey === undefined ? tag : `${tag}:${key}`;
  return {
    window: `${own}:m`,
    returned: `${own}:r`,
    leases: { amounts: `${own}:leases`, expiries: `${own}:leases-until` },
    ended: `${tag}:ended`,
    own,
  };
}

export function counterKeys(name: CounterName) {
  const counter = `${redisKeys(name).own}:${name.span.name}`;
  return {
    counter,
    pending: `${counter}:pending`,
    settled: `${counter}:settled`,
    reload: `${counter}:reload`,
    leases: { amounts: `${counter}:reserved`, expiries: `${counter}:reserved-until` },
  };
}

export function hashTag({ key, groupKey }: LimitedKey): string {
  return `rl:{${escaped(groupKey ?? key)}}`;
}

function escaped(text: string): string {
  return /[%{}]/.test(text) ? text.replace(/[%{}]/g, encodeURIComponent) : text;
}
