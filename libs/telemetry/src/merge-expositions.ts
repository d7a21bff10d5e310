/** The metrics of another process of this one, as text. */
export interface WorkerExposition {
  /** What its samples are told apart by: the value of their label `worker`. */
  readonly worker: string;
  readonly text: string;
}

/** One text for Prometheus of this process and its workers. Samples of one name stand together, as the format wants. */
export function mergeExpositions(own: string, workers: readonly WorkerExposition[]): string {
  const families = new Map<string, Family>();
  addTo(families, own, (sample) => sample);
  for (const { worker, text } of workers) addTo(families, text, (sample) => withLabel(sample, `worker="${worker}"`));
  return `${[...families.values()].map(({ head, samples }) => [...head, ...samples].join('\n')).join('\n\n')}\n`;
}

interface Family {
  /** Its help and its type. */
  readonly head: readonly string[];
  readonly samples: string[];
}

function addTo(families: Map<string, Family>, text: string, relabelled: (sample: string) => string): void {
  const lines = text.split('\n').filter((line) => line !== '');
  for (let index = 0; index < lines.length; ) {
    const head = lines.slice(index, index + 2);
    const name = head[0]?.split(' ', 3)[2] ?? '';
    const family = families.get(name) ?? { head, samples: [] };
    families.set(name, family);
    for (index += 2; index < lines.length && lines[index]?.startsWith('#') === false; index++) {
      family.samples.push(relabelled(lines[index] ?? ''));
    }
  }
}

function withLabel(sample: string, label: string): string {
  const nameEnd = sample.search(/[{ ]/);
  const name = sample.slice(0, nameEnd);
  return sample[nameEnd] === '{'
    ? `${name}{${label},${sample.slice(nameEnd + 1)}`
    : `${name}{${label}}${sample.slice(nameEnd)}`;
}
