/**
 * Whether an error of a query means that no usable server answers, and not that a server refused
 * the query.
 */
export function isDatabaseAway(thrown: unknown): boolean {
  return thrown instanceof Error && awayErrors.has(thrown);
}

/** Remembers the error of a connection: it looks like any other network error. */
export function noteDatabaseAway(thrown: unknown): void {
  if (thrown instanceof Error) awayErrors.add(thrown);
}

const awayErrors = new WeakSet<Error>();
