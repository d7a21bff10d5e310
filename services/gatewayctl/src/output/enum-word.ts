/** The name of an enum's value in lower case: `rate_limited`. */
export function enumWord(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase();
}
