/** A number in a header; undefined when it is not there or none. */
export function numberIn(headers: Readonly<Record<string, string>>, name: string): number | undefined {
  const text = headers[name]?.trim();
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** A whole moment that is yet to come: one that has passed tells nothing. */
export function toFutureMs(epochMs: number, nowMs: number): number | undefined {
  return epochMs > nowMs && epochMs <= latestDateMs ? Math.ceil(epochMs) : undefined;
}

/** The last moment a Date can hold. */
const latestDateMs = 8.64e15;
