import type { BenchCase } from '../bench-cases.ts';
import type { WatchedProcess } from '../measure/processor-time.ts';

export const systemNames = ['direct', 'nginx', 'bare-node', 'portkey', 'all-in-one', 'services'] as const;

export type SystemName = (typeof systemNames)[number];

/** Something that stands between the generator and the providers, on the system's core. */
export interface System extends AsyncDisposable {
  readonly name: SystemName;
  readonly port: number;
  /** What is counted as its cost. */
  readonly processes: readonly WatchedProcess[];
  /** Tokens that requests take turns with. */
  readonly tokens: readonly string[];
  /** Ports of the debugger, by process name, when the system was started to be profiled. */
  readonly inspectorPorts: ReadonlyMap<string, number>;
  /** Whether it can answer the requests of a case. */
  serves(benchCase: BenchCase): boolean;
  /** Headers that it needs besides those of the API. */
  headersFor(benchCase: BenchCase): Readonly<Record<string, string>>;
}

/** Token texts for systems that don't look at them. */
export const anyTokens: readonly string[] = ['bench-token'];
