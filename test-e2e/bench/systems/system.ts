import type { BenchCase } from '../bench-cases.ts';
import type { WatchedProcess } from '../measure/processor-time.ts';

export const systemNames = ['direct', 'nginx', 'bare-node', 'portkey', 'all-in-one', 'services'] as const;

export type SystemName = (typeof systemNames)[number];

/** A system between the generator and the providers, on the system's core. */
export interface System extends AsyncDisposable {
  readonly name: SystemName;
  readonly port: number;
  /** The processes that count as its cost. */
  readonly processes: readonly WatchedProcess[];
  /** Tokens that requests use in turns. */
  readonly tokens: readonly string[];
  /** Ports of the debugger, by process name, if the system was started for profiling. */
  readonly inspectorPorts: ReadonlyMap<string, number>;
  /** Whether it can answer the requests of a case. */
  serves(benchCase: BenchCase): boolean;
  /** Headers that it needs besides those of the API. */
  headersFor(benchCase: BenchCase): Readonly<Record<string, string>>;
}

/** Token texts for systems that don't check them. */
export const anyTokens: readonly string[] = ['bench-token'];
