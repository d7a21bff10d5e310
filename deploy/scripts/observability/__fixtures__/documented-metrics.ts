import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

/** The rows of docs/reference/metrics.md. */
export async function documentedMetrics(): Promise<readonly DocumentedMetric[]> {
  const text = await readFile(join(import.meta.dirname, '../../../../docs/reference/metrics.md'), 'utf8');
  return [...text.matchAll(/^\| `([a-z_0-9]+)` *\| (\w+) *\| ([^|]*)\|/gm)].map(
    ([, name = '', type = '', labels = '']) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    }),
  );
}

/** The series of a metric, with their own labels. */
export function seriesOf({ name, type, labels }: DocumentedMetric): readonly DocumentedMetric[] {
  if (type !== 'histogram') return [{ name, type, labels }];
  return [
    { name: `${name}_bucket`, type, labels: [...labels, 'le'] },
    { name: `${name}_sum`, type, labels },
    { name: `${name}_count`, type, labels },
  ];
}
