import { join } from 'node:path';

// What `npm run start:services` and the programs that start it through an IPC channel say to each other.

/** Every service in groups, callers before those they call: the order in which they stop. */
export const serviceGroups = [
  ['edge-router', 'admin'],
  ['responses-adapter', 'messages-adapter', 'usage-ingest'],
  ['limiter', 'pool-broker', 'identity'],
  ['usage-query'],
] as const;

export type ServiceName = (typeof serviceGroups)[number][number];

export const serviceNames: readonly ServiceName[] = serviceGroups.flat();

export function mapServices<T>(valueFor: (name: ServiceName) => T): Record<ServiceName, T> {
  // Every name is there: the entries come from the list that the type is made of.
  return Object.fromEntries(serviceNames.map((name) => [name, valueFor(name)])) as Record<ServiceName, T>;
}

/** The first process of each service. One that has none is left out, and asking for it fails. */
export function firstOfEach<T>(
  processes: Readonly<Record<ServiceName, readonly T[]>>,
): Readonly<Record<ServiceName, T>> {
  const first = mapServices((name) => processes[name][0]);
  for (const name of serviceNames.filter((each) => first[each] === undefined)) {
    Object.defineProperty(first, name, {
      enumerable: false,
      get: () => {
        throw new Error(`There is no process of ${name}.`);
      },
    });
  }
  return first as Record<ServiceName, T>;
}

/** What runs a service, or `gatewayctl`: its source; the one that `npm run build:programs` made, where GATEWAY_PROGRAMS names their folder. */
export function programOf(name: string): string {
  const { GATEWAY_PROGRAMS: built } = process.env;
  return built === undefined ? join(repository, 'services', name, 'src/main.ts') : join(built, name, 'main.mjs');
}

const repository = join(import.meta.dirname, '../../..');

/** One process of a service. Restarts keep its ports and its folder. */
export interface ServiceAddress {
  /** Liveness, readiness and metrics; at the admin service, the operators' API and the console too. */
  readonly adminUrl: string;
  /** `http://127.0.0.1:<port>` for gRPC; `https` with TLS. */
  readonly grpcUrl: string;
  /** Where secrets of accounts are served; only the pool-broker has it. */
  readonly credentialUrl?: string;
  /** `http://127.0.0.1:<port>` of the public API; only the edge has one. */
  readonly publicUrl?: string;
  /** What it keeps on disk; only the edge has such a folder. */
  readonly dataFolder?: string;
  /** What the first operator signs in with; only the admin service has it. */
  readonly adminToken?: string;
}

/** To `start:services`: what to do to one process. */
export interface ServiceOrder {
  readonly id: number;
  readonly service: ServiceName;
  /** Which process of the service. */
  readonly index: number;
  readonly action: 'stop' | 'kill' | 'pause' | 'resume' | 'restart';
}

/** From `start:services`. Sent once: all services run. */
export interface ServicesStarted {
  readonly kind: 'started';
  /** Every process of each service; the second of a service calls the second of its peers, if there is one. */
  readonly replicas: Readonly<Record<ServiceName, readonly (ServiceAddress & { readonly pid?: number })[]>>;
}

/** From `start:services`: an order is carried out, or why it failed; or a process ended without an order. */
export type ServiceReport =
  | { readonly kind: 'done'; readonly id: number; readonly pid?: number; readonly problem?: string }
  | { readonly kind: 'ended'; readonly service: ServiceName; readonly index: number; readonly how: string };
