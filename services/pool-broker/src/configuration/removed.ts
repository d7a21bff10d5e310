/** A part of the configuration that was taken out of it and is still needed by requests that began before. */
export interface Removed<T> {
  readonly value: T;
  /** When it is needed no more. */
  readonly untilMs: number;
}

export interface Removal<T> {
  readonly before: readonly T[];
  readonly after: readonly T[];
  readonly keyOf: (value: T) => string;
  readonly nowMs: number;
  readonly untilMs: number;
}

/** What is taken out by a change, besides what was taken out earlier, is still needed and has not come back. */
export function removedBy<T>(
  earlier: readonly Removed<T>[],
  { before, after, keyOf, nowMs, untilMs }: Removal<T>,
): readonly Removed<T>[] {
  const kept = new Set(after.map(keyOf));
  const leaving = before.map((value) => ({ value, untilMs }));
  return [...neededAt(earlier, nowMs), ...leaving].filter(({ value }) => !kept.has(keyOf(value)));
}

export function neededAt<T>(removed: readonly Removed<T>[], nowMs: number): readonly Removed<T>[] {
  return removed.filter(({ untilMs }) => nowMs < untilMs);
}
