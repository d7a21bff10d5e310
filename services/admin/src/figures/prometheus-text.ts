/** The samples of one replica by metric name. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

export interface Sample {
  /** Name and labels as they appear in the text: the same in each text of a replica. */
  readonly series: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Reads the requested metrics of a text. It skips all other lines, which is most of them, and lines
 * that it can't read: one missing figure is better than none at all.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function parseMetrics(text: string, wanted: ReadonlySet<string>): Samples {
  const samples = new Map<string, Sample[]>();
  for (let begin = 0; begin < text.length; ) {
    const lineEnd = text.indexOf('\n', begin);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const name = nameAt(text, begin);
    if (wanted.has(name)) {
      const sample = toSample(text.slice(begin, end));
      if (sample !== undefined) samples.getOrInsert(name, []).push(sample);
    }
    begin = end + 1;
  }
  return samples;
}

/** The sum over all series of a metric. Undefined if there are none. */
export function sumOf(samples: Samples | undefined, name: string): number | undefined {
  const values = valuesOf(samples, name);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

/** The largest value of all series of a metric. Undefined if there are none. */
export function maxOf(samples: Samples | undefined, name: string): number | undefined {
  const values = valuesOf(samples, name);
  return values.length === 0 ? undefined : Math.max(...values);
}

function valuesOf(samples: Samples | undefined, name: string): readonly number[] {
  return (samples?.get(name) ?? []).map(({ value }) => value).filter(Number.isFinite);
}

const namePattern = /[a-zA-Z_:][\w:]*/y;

function nameAt(text: string, index: number): string {
  namePattern.lastIndex = index;
  return namePattern.exec(text)?.[0] ?? '';
}

const labelPattern = /\b([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** `name{label="value"} 12.5`; a timestamp may follow. */
function toSample(line: string): Sample | undefined {
  const labelsEnd = line.lastIndexOf('}') + 1;
  const seriesEnd = labelsEnd === 0 ? line.indexOf(' ') : labelsEnd;
  const series = line.slice(0, seriesEnd);
  const value = toNumber(line.slice(seriesEnd).trim().split(' ', 1)[0] ?? '');
  if (seriesEnd <= 0 || value === undefined) return undefined;
  const pairs = labelsEnd === 0 ? [] : series.matchAll(labelPattern);
  return {
    series,
    value,
    labels: Object.fromEntries([...pairs].map(([, name, text = '']) => [name, unescaped(text)])),
  };
}

function toNumber(text: string): number | undefined {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  if (text === '' || (text !== 'NaN' && Number.isNaN(Number(text)))) return undefined;
  return Number(text);
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_match, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
