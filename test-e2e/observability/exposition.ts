import { roomMs } from '@gateway/testkit/room';
/** A metric as a process shows it. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads Prometheus' text format, by the names of its metrics. */
export function familiesOf(exposition: string): ReadonlyMap<string, Family> {
  const families = new Map<string, { name: string; type: string; series: Series[] }>();
  let family: { name: string; type: string; series: Series[] } | undefined;
  for (const line of exposition.split('\n')) {
    const [, name, type = ''] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (name !== undefined) {
      family = { name, type, series: [] };
      families.set(name, family);
    } else if (line !== '' && !line.startsWith('#')) family?.series.push(seriesOf(line));
  }
  return families;
}

function seriesOf(line: string): Series {
  const [, name = '', labels = '', value = ''] = /^([^{\s]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, text])),
    value: Number(value),
  };
}

export async function readExposition(adminUrl: string): Promise<string> {
  const response = await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(roomMs(10_000)) });
  if (!response.ok) throw new Error(`${adminUrl}/metrics answered ${response.status}`);
  return response.text();
}
