import type { Row } from '../report/results.ts';
import { type RecordedRatios, ratiosOf, watchedSystems } from './recorded-ratios.ts';

/** So many times the recorded ratio is no noise: on busy machines the ratio of a short round was seen at four times that of another. */
export const widestMargin = 2.5;

export interface Comparison {
  /** A line for each case and system. */
  readonly lines: readonly string[];
  /** Those of them that tell of a regression. */
  readonly regressions: readonly string[];
}

/** Holds the ratios of a run against the recorded ones. What either does not have is no regression. */
export function compareRatios(
  rows: readonly Pick<Row, 'case' | 'system' | 'timesNginx'>[],
  recorded: RecordedRatios,
): Comparison {
  const now = ratiosOf(rows);
  if (Object.keys(now).length === 0) {
    return { lines: ['nginx could not be measured, so there are no ratios to compare'], regressions: [] };
  }
  const lines: string[] = [];
  const regressions: string[] = [];
  for (const [name, bySystem] of Object.entries(recorded)) {
    for (const system of watchedSystems) {
      const before = bySystem[system];
      const ratio = now[name]?.[system];
      if (before === undefined || ratio === undefined) continue;
      const isRegression = ratio > before * widestMargin;
      const line = `${name}, ${system}: ${ratio} × nginx, recorded ${before} ×${isRegression ? `: more than ${widestMargin} times that` : ''}`;
      lines.push(line);
      if (isRegression) regressions.push(line);
    }
  }
  return { lines, regressions };
}
