interface Sliceable<Whole> {
  readonly length: number;
  slice(start: number, end?: number): Whole;
}

/** Splits a text or bytes at these places; a place beyond the end wraps around. */
export function cutUp<Whole extends Sliceable<Whole>>(whole: Whole, cuts: readonly number[]): readonly Whole[] {
  const places = cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b);
  return [...places, whole.length].map((end, index) => whole.slice(places[index - 1] ?? 0, end));
}
