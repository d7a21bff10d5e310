/**
 * Ids of requests say when they were made: from when to when, for one that begins so. Undefined for what is not the beginning of an
 * id, and for one that is too short to tell. @see RFC 9562, UUID version 7
 */
export function timesOfId(prefix: string): { readonly firstMs: number; readonly lastMs: number } | undefined {
  const completed = prefix + firstOfAll.slice(prefix.length);
  if (prefix.length < 8 || !/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(completed)) {
    return undefined;
  }
  const digits = prefix.replaceAll('-', '').slice(0, 12);
  const [firstMs, lastMs] = [digits.padEnd(12, '0'), digits.padEnd(12, 'f')].map((each) => Number.parseInt(each, 16));
  if (firstMs === undefined || lastMs === undefined) return undefined;
  // The beginning of an id of another kind, as clients make them, says a time of some other millennium.
  if (prefix.length < 36 && (lastMs < earliestMs || firstMs > latestMs)) return undefined;
  return { firstMs, lastMs };
}

const firstOfAll = '00000000-0000-7000-8000-000000000000';
const earliestMs = Date.UTC(2020);
const latestMs = Date.UTC(2100);

/** Where ids of a time begin: no id that is made then or later is before it in the order of texts. */
export function firstIdAt(ms: number): string {
  const digits = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}
