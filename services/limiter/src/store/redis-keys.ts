import type { LocalDay } from '@gateway/time';

/** Written to see whether Redis takes anything; belongs to no limited key. */
export const probeKey = 'rl:probe';

export function windowKey(key: string): string {
  return `rl:{${hashTag(key)}}:m`;
}

export function dayKey(key: string, day: LocalDay): string {
  return `rl:{${hashTag(key)}}:d:${day}`;
}

export function pendingKey(key: string, day: LocalDay): string {
  return `${dayKey(key, day)}:pending`;
}

export function toldKey(key: string, day: LocalDay): string {
  return `${dayKey(key, day)}:told`;
}

export function ticketKey(key: string, day: LocalDay): string {
  return `${dayKey(key, day)}:ticket`;
}

/** All keys of one limited key have one hash tag: braces in it would end the tag early. */
function hashTag(key: string): string {
  return /[%{}]/.test(key) ? key.replace(/[%{}]/g, encodeURIComponent) : key;
}
