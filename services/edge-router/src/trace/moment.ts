/**
 * A moment of a request, in hundredths of a millisecond since it was received; `never` when it did not come so far. A small whole
 * number stands in the object that has it, where V8 would make another object for a fraction.
 */
export type Moment = number;

export const never: Moment = -1;

export function momentOf(sinceReceivedMs: number): Moment {
  return Math.round(sinceReceivedMs * perMs);
}

/** In milliseconds. */
export function msOf(moment: Moment): number | undefined {
  return moment === never ? undefined : moment / perMs;
}

const perMs = 100;
