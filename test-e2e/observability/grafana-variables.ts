import { type DashboardVariable, readVariables } from './expressions.ts';
import type { Scraping } from './scraping.ts';

/** Puts values into an expression of a panel, as Grafana does. */
export type FillIn = (expression: string) => string;

/**
 * Grafana's own variables, for a panel of one hour and a Prometheus with its usual interval of 15
 * s.
 */
const ownVariables = {
  __rate_interval: '1m',
  __interval: '15s',
  __range: '1h',
  __range_s: '3600',
} as const;

/** All values are chosen. */
export async function grafanaVariables(
  scraping: Scraping,
): Promise<{ readonly fillIn: FillIn; readonly empty: readonly string[] }> {
  const empty: string[] = [];
  const values = new Map<string, string>(Object.entries(ownVariables));
  const fillIn: FillIn = (expression) =>
    expression.replaceAll(/\$(?:\{(\w+)(?::\w+)?\}|(\w+))/g, (whole, braced: string, bare: string) => {
      const value = values.get(braced ?? bare);
      if (value === undefined) throw new Error(`${whole} is no variable of the dashboards: ${expression}`);
      return value;
    });
  // A variable's values may depend on the variables before it.
  for (const variable of readVariables()) {
    const found = await scraping.labelValues(fillIn(variable.selector), variable.label);
    if (found.length === 0) empty.push(`$${variable.name} of ${variable.dashboard}`);
    values.set(variable.name, chosenOf(variable, found));
  }
  return { fillIn, empty };
}

/** Escaped twice: as a regular expression, and as a string of PromQL. */
function chosenOf({ allValue }: DashboardVariable, values: readonly string[]): string {
  const escaped = values.map((value) => value.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\\\$&'));
  return allValue ?? `(${escaped.join('|')})`;
}
