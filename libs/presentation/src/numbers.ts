/*
 * Numbers as operators read them. Counts of the ledger and settings are exact. Live figures, axes
 * and cells of lists are exact below 10 000, and have three significant digits above. Groups are
 * separated by thin spaces, which are never confused with a decimal sign.
 */

const grouped = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
const amount = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const smallAmount = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/** 1 234 567 */
export function formatCount(count: number): string {
  return grouped.format(count).replaceAll(',', '\u202f');
}

/** "1 request", "1 234 requests", "2 replicas are", "1 replica is" */
export function formatCountOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** 482, 9 999, 12.3k, 1.23M */
export function formatCompact(count: number): string {
  return count < 9_999.5 ? formatCount(count) : compact.format(count).replace('K', 'k');
}

/** 0.25, 3.1, 482, 12.3k: only significant digits. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond < 0.01) return '< 0.01';
  return perSecond < 10 ? String(Number(perSecond.toPrecision(2))) : formatCompact(Math.round(perSecond));
}

/** 42 %, 0.3 % */
export function formatPercent(share: number): string {
  const percent = share * 100;
  return `${percent > 0 && percent < 10 ? Number(percent.toPrecision(1)) : Math.round(percent)}\u00a0%`;
}

/** 320 ms, 1.4 s */
export function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)}\u00a0ms`;
  return seconds < 10 ? `${seconds.toFixed(1)}\u00a0s` : formatDuration(seconds);
}

/** 45 s, 12 min, 3 h 5 min, 2 d 4 h */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}\u00a0s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}\u00a0min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return parts(hours, 'h', minutes % 60, 'min');
  return parts(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function parts(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return `${large}\u00a0${largeUnit}${small === 0 ? '' : ` ${small}\u00a0${smallUnit}`}`;
}

/** 213 MiB */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const size = bytes / 1024 ** unit;
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)}\u00a0${units[unit]}`;
}

/** Millionths of a currency: "1 250.00 EUR". Amounts below 1 keep four digits: "0.125 EUR". */
export function moneyText(micros: number, currency: string): string {
  const { format } = Math.abs(micros) < 1_000_000 ? smallAmount : amount;
  return `${format(micros / 1_000_000).replaceAll(',', '\u202f')} ${currency}`.trim();
}
