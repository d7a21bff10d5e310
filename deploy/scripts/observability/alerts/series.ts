/** A counter in promtool's notation, a sample a minute: so much more each minute, for so many minutes, then the next pace. */
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

/** A gauge in promtool's notation: a value for so many minutes, then the next one. */
export function gauge(...values: readonly (readonly [value: number, minutes: number])[]): string {
  return values.map(([value, minutes]) => `${value}x${minutes - 1}`).join(' ');
}

/** Minutes in which there is no sample, as of a target that is gone. */
export function missing(minutes: number): string {
  return `_x${minutes}`;
}
