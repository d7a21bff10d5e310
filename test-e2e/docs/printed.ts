/**
 * The first line of a page's output that was not printed, in this order. `…` matches anything.
 * Undefined if all lines were printed. Other lines may come between them.
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
