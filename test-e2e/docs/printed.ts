/**
 * The first line of what a page shows that was not printed, in this order. `…` stands for anything. Undefined: all is there. Lines may be
 * printed between those that are shown.
 */
export function missingIn(printed: string, shown: string): string | undefined {
  let lines = printed.split('\n').map((line) => line.trim());
  for (const wanted of shown.split('\n').filter((line) => line.trim() !== '')) {
    const pattern = new RegExp(`^${wanted.trim().split('…').map(RegExp.escape).join('.*')}$`);
    const at = lines.findIndex((line) => pattern.test(line));
    if (at === -1) return wanted;
    lines = lines.slice(at + 1);
  }
  return undefined;
}
