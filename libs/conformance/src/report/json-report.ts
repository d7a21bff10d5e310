import type { Result } from './result.ts';
import { summaryOf } from './summary.ts';

/** Everything that was found, for programs. */
export function jsonReport(results: readonly Result[]): string {
  const checks = results.map(({ check: { name, level, endpoints, rule, source }, outcome, milliseconds }) => {
    const { kind, ...found } = outcome;
    return { name, level, endpoints, rule, source, outcome: kind, ...found, milliseconds };
  });
  return `${JSON.stringify({ summary: summaryOf(results), checks }, undefined, 2)}\n`;
}
