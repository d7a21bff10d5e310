/**
 * The time range of request ids with this prefix, because ids contain the time when they were
 * created. Undefined for text that is not the prefix of an id, or too short.
 * @see RFC 9562, UUID version 7
 */
export function timesOfId(prefix: string): { readonly firstMs: number; readonly lastMs: number } | undefined {
  const completed = prefix + firstOfAll.slice(prefix.length);
  if (prefix.length < 8 || !/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(completed)) {
    return undefined;
  }
  const digits = prefix.replaceAll('-', '').slice(0, 12);
  const [firstMs, lastMs] = [digits.padEnd(12, '0'), digits.padEnd(12, 'f')].map((each) => Number.parseInt(each, 16));
  if (firstMs === undefined || lastMs === undefined) return undefined;
  // The prefix of another kind of id, such as a client's, gives a time in some other millennium.
  if (prefix.length < 36 && (lastMs < earliestMs || firstMs > latestMs)) return undefined;
  return { firstMs, lastMs };
}

const firstOfAll = '00000000-0000-7000-8000-000000000000';
const earliestMs = Date.UTC(2020);
const latestMs = Date.UTC(2100);

/** The lowest id of an instant: every id created then or later sorts after it. */
export function firstIdAt(ms: number): string {
  const digits = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}
