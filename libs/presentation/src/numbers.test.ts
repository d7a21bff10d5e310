import { expect, it } from 'vitest';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatCountOf,
  formatDuration,
  formatPercent,
  formatRate,
  formatSeconds,
  moneyText,
} from './numbers.ts';

/** Non-breaking spaces look like normal ones here. */
function plain(text: string): string {
  return text.replaceAll(/[\u00a0\u202f]/g, ' ');
}

it.each([
  [formatCount(1_234_567), '1 234 567'],
  [formatCount(9_007_199_254_740_991), '9 007 199 254 740 991'],
  [formatCompact(1_234_567), '1.23M'],
  [formatCompact(1_180), '1 180'],
  [formatCompact(9_999), '9 999'],
  [formatCompact(16_300), '16.3k'],
  [formatRate(1_630.4), '1 630'],
  [formatCountOf(1, 'account'), '1 account'],
  [formatCountOf(0, 'account'), '0 accounts'],
  [formatCountOf(2_345, 'account'), '2 345 accounts'],
  [formatCountOf(1, 'replica is', 'replicas are'), '1 replica is'],
  [formatRate(0), '0'],
  [formatRate(0.001), '< 0.01'],
  [formatRate(0.254), '0.25'],
  [formatRate(482.4), '482'],
  [formatPercent(0.421), '42 %'],
  [formatPercent(0.0031), '0.3 %'],
  [formatSeconds(0.3204), '320 ms'],
  [formatSeconds(1.44), '1.4 s'],
  [formatSeconds(75), '1 min'],
  [formatDuration(59.6), '1 min'],
  [formatDuration(3 * 3600 + 300), '3 h 5 min'],
  [formatDuration(2 * 86_400 + 4 * 3600), '2 d 4 h'],
  [formatDuration(-3), '0 s'],
  [formatBytes(214_000_000), '204 MiB'],
  [formatBytes(1536), '1.5 KiB'],
])('writes %s as %s', (written, text) => {
  expect(plain(written)).toBe(text);
});

it.each([
  [0, '0.00 EUR'],
  [12_345, '0.0123 EUR'],
  [125_000, '0.125 EUR'],
  [12_500_000, '12.50 EUR'],
  [1_250_000_000, '1 250.00 EUR'],
])('%s millionths are "%s"', (micros, text) => {
  expect(plain(moneyText(micros, 'EUR'))).toBe(text);
});
