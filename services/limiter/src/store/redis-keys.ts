import type { LocalDay } from '@gateway/time';

/** Written to see whether Redis takes anything; belongs to no limited key. */
export const probeKey = 'rl:probe';

/** What is kept of a limited key and of one of its days. */
export interface RedisKeys {
  readonly day: LocalDay;
  readonly window: string;
  readonly counter: string;
  readonly pending: string;
  readonly told: string;
  /** Of the latest reconciliation. */
  readonly ticket: string;
}

/** Remembered, by key those that were asked for last: a busy key's are asked for with every request, and almost always of today. */
export function redisKeys(key: string, day: LocalDay): RedisKeys {
  const known = remembered.get(key);
  if (known?.day === day) return known;
  const keys = nameKeys(key, day);
  if (remembered.size >= mostRemembered) remembered.clear();
  remembered.set(key, keys);
  return keys;
}

export function windowKey(key: string): string {
  return `rl:{${hashTag(key)}}:m`;
}

export function replicasKey(group: string): string {
  return `rl:replicas:${group}`;
}

const remembered = new Map<string, RedisKeys>();
const mostRemembered = 10_000;

function nameKeys(key: string, day: LocalDay): RedisKeys {
  const counter = `rl:{${hashTag(key)}}:d:${day}`;
  return {
    day,
    window: windowKey(key),
    counter,
    pending: `${counter}:pending`,
    told: `${counter}:told`,
    ticket: `${counter}:ticket`,
  };
}

/** All keys of one limited key have one hash tag: braces in it would end the tag early. */
function hashTag(key: string): string {
  return /[%{}]/.test(key) ? key.replace(/[%{}]/g, encodeURIComponent) : key;
}
