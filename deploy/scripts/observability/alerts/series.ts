/**
 * A counter in promtool's notation, a sample a minute: it grows by this much each minute, for this
 * many minutes, then at the next pace.
 */
export function counter(...paces: readonly (readonly [perMinute: number, minutes: number])[]): string {
  let value = 0;
  return paces
    .map(([perMinute, minutes]) => {
      const from = value;
      value += perMinute * minutes;
      return `${from}+${perMinute}x${minutes - 1}`;
    })
    .join(' ');
}

/** A gauge in promtool's notation: a value for this many minutes, then the next one. */
export function gauge(...values: readonly (readonly [value: number, minutes: number])[]): string {
  return values.map(([value, minutes]) => `${value}x${minutes - 1}`).join(' ');
}

/** Minutes without samples, as from a missing target. */
export function missing(minutes: number): string {
  return `_x${minutes}`;
}
