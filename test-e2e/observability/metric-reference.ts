import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A metric as docs/reference/metrics.md has it. */
export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

export const referencePath = fileURLToPath(new URL('../../docs/reference/metrics.md', import.meta.url));

/** The rows of its tables: name, type, labels. */
export function readMetricReference(): ReadonlyMap<string, DocumentedMetric> {
  const rows = readFileSync(referencePath, 'utf8').matchAll(/^\| `(\w+)`\s*\| (\w+)\s*\| ([^|]*)\|/gm);
  return new Map(
    [...rows].map(([, name = '', type = '', labels = '']) => [
      name,
      { name, type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) },
    ]),
  );
}

/** The metric of a series: a histogram has series of three names. */
export function metricOf(series: string, reference: ReadonlyMap<string, DocumentedMetric>): string {
  const base = series.replace(/_(bucket|sum|count)$/, '');
  return reference.get(base)?.type === 'histogram' ? base : series;
}
