import { formatBytes, formatCompact, formatRate, formatSeconds } from './numbers.ts';

/** A value with the words and the unit of its name: "disk free 66 GiB" for `disk_free_bytes`. */
export function figureText(name: string, value: number | string): { readonly name: string; readonly text: string } {
  const [, words = name, unit = ''] = /^(.+)_(bytes|seconds)$/.exec(name) ?? [];
  return { name: words.replaceAll('_', ' '), text: textOf(value, unit) };
}

function textOf(value: number | string, unit: string): string {
  if (typeof value === 'string') return value;
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'seconds') return formatSeconds(value);
  return Number.isInteger(value) ? formatCompact(value) : formatRate(value);
}
