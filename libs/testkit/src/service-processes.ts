import { join } from 'node:path';

// The messages between `npm run start:services` and programs that start it with an IPC channel.

/**
 * All services in groups, callers before the services that they call: the order in which they stop.
 */
export const serviceGroups = [
  ['edge-router', 'admin'],
  ['responses-adapter', 'messages-adapter', 'usage-ingest'],
  ['limiter', 'pool-broker', 'identity'],
  ['usage-query'],
] as const;

export type ServiceName = (typeof serviceGroups)[number][number];

export const serviceNames: readonly ServiceName[] = serviceGroups.flat();

export function mapServices<T>(valueFor: (name: ServiceName) => T): Record<ServiceName, T> {
  // Every name is present: the entries come from the list that defines the type.
  return Object.fromEntries(serviceNames.map((name) => [name, valueFor(name)])) as Record<ServiceName, T>;
}

/**
 * The first process of each service. A service without a process is left out, and reading it fails.
 */
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

/**
 * The program of a service, or of `gatewayctl`: its source or, if GATEWAY_PROGRAMS names a folder,
 * the bundle there that `npm run build:programs` made.
 */
export function programOf(name: string): string {
  const { GATEWAY_PROGRAMS: built } = process.env;
  return built === undefined ? join(repository, 'services', name, 'src/main.ts') : join(built, name, 'main.mjs');
}

const repository = join(import.meta.dirname, '../../..');

/** One process of a service. Restarts keep its ports and its folder. */
export interface ServiceAddress {
  /**
   * Liveness, readiness and metrics. The admin service serves the operators' API and the console
   * there too.
   */
  readonly adminUrl: string;
  /** `http://127.0.0.1:<port>` for gRPC; `https` with TLS. */
  readonly grpcUrl: string;
  /** Where secrets of accounts are served; only the pool-broker has it. */
  readonly credentialUrl?: string;
  /** `http://127.0.0.1:<port>` of the public API; only the edge has it. */
  readonly publicUrl?: string;
  /** Its data on disk; only the edge has such a folder. */
  readonly dataFolder?: string;
  /** The token of the first operator; only the admin service has it. */
  readonly adminToken?: string;
}

/** Sent to `start:services`: what to do with one process. */
export interface ServiceOrder {
  readonly id: number;
  readonly service: ServiceName;
  /** The index of the process within its service. */
  readonly index: number;
  readonly action: 'stop' | 'kill' | 'pause' | 'resume' | 'restart';
}

/** Sent by `start:services` once all services run. */
export interface ServicesStarted {
  readonly kind: 'started';
  /**
   * All processes of each service. The second process of a service calls the second one of its
   * peers, if there is one.
   */
  readonly replicas: Readonly<Record<ServiceName, readonly (ServiceAddress & { readonly pid?: number })[]>>;
}

/**
 * Sent by `start:services` when an order is done, when it failed, or when a process ended without
 * an order.
 */
export type ServiceReport =
  | { readonly kind: 'done'; readonly id: number; readonly pid?: number; readonly problem?: string }
  | { readonly kind: 'ended'; readonly service: ServiceName; readonly index: number; readonly how: string };
