import { join } from 'node:path';
import { ConfigError } from '@gateway/config';
import { type GatewayDatabase, migrate } from '@gateway/database';
import { type OutboxSynchronous, outboxSynchronous } from '@gateway/edge-router/usage/outbox-file';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import type { ServiceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { Disks } from '../stores/disks.ts';
import { JetStreamModel } from '../stores/jet-stream.ts';
import { LedgerDatabase } from '../stores/ledger-database.ts';
import { RedisModel } from '../stores/redis.ts';
import { interceptStatements } from '../world/databases.ts';
import type { Network } from '../world/network.ts';
import { RpcChannel, rpcPort, serveRpc } from '../world/rpc-network.ts';
import { outside, type World, WorldProcess } from '../world/world.ts';
import { GatewayFile } from './gateway-file.ts';
import { ownDeadlines } from './own-deadlines.ts';
import { type Program, programs } from './programs.ts';

/** How many processes of each kind run. */
export type Replicas = Readonly<Record<keyof typeof programs, number>>;

/** What a program gets from its machine. */
export interface Host {
  readonly name: string;
  readonly network: Network;
  readonly runtime: ServiceRuntime;
  /** A folder that outlives the process. */
  readonly folder: string;
  readonly backends: Backends;
  readonly gatewayFile: GatewayFile;
  /** What its outbox survives. */
  readonly outboxSynchronous: OutboxSynchronous;
  /** Tells how to see whether this process decides limits alone. */
  watchAway(isAway: () => boolean): void;
  /** A channel to all replicas of a service. */
  channel(service: keyof typeof programs, port?: number): RpcChannel;
}

/** What the processes share besides the network. */
export interface Backends {
  readonly database: GatewayDatabase;
  readonly redis: RedisModel;
  readonly stream: JetStreamModel;
  readonly ledger: LedgerDatabase;
  readonly disks: Disks;
}

/** The port of the secrets of accounts. */
export const credentialPort = 50_052;

/** Every process of one gateway, with the backends that they share. */
export class Cluster {
  readonly world: World;
  readonly network: Network;
  readonly backends: Backends;
  readonly gatewayFile: GatewayFile;
  readonly #replicas: Replicas;
  readonly #folder: string;
  readonly #firstSetting: number;
  readonly #running = new Map<string, Running>();
  /** When processes died with admissions that only they knew. */
  readonly lostAloneAtMs: number[] = [];
  /** Of every process that ever ran. */
  readonly #metrics: Metrics[] = [];

  constructor(network: Network, replicas: Replicas, folder: string) {
    const { world } = network;
    this.world = world;
    this.network = network;
    this.#replicas = replicas;
    this.#folder = folder;
    this.#firstSetting = world.seeded.of('settings').between(0, 2);
    this.gatewayFile = new GatewayFile(join(folder, 'gateway.yaml'), () => world.nowMs);
    const stream = new JetStreamModel(() => world.nowMs);
    const [ledger, disks] = [new LedgerDatabase(), new Disks()];
    this.backends = { database: ledger.database, ledger, disks, redis: new RedisModel(world), stream };
    interceptStatements((statement, run) =>
      statement.database.location() === null ? ledger.answer(statement, run) : disks.write(statement, run),
    );
    ownDeadlines();
  }

  /** All names, in the order in which they start. */
  get names(): readonly string[] {
    return Object.entries(this.#replicas).flatMap(([kind, count]) =>
      Array.from({ length: count }, (_, index) => `${kind}-${index + 1}`),
    );
  }

  namesOf(kind: keyof typeof programs): readonly string[] {
    return this.names.filter((name) => kindOf(name) === kind);
  }

  async start(): Promise<void> {
    await migrate(this.backends.database);
    for (const name of this.names) this.startProcess(name);
  }

  /** Starts a process, or starts it again with its folder. */
  startProcess(name: string): void {
    const process = new WorldProcess(name);
    const running: Running = { process, metrics: new Metrics() };
    this.#running.set(name, running);
    this.#metrics.push(running.metrics);
    process.run(() => {
      void this.#run(name, running).catch((thrown: unknown) => this.#onNotStarted(name, thrown));
    });
  }

  /** With a full disk or a broken file a process ends, and is started again until it can work. */
  #onNotStarted(name: string, thrown: unknown): void {
    if (this.processOf(name)?.state === 'killed') return;
    if (!(this.backends.disks.isFull(name) || thrown instanceof ConfigError)) return this.world.fault(name, thrown);
    this.kill(name);
    outside(() => this.world.plan(1_000, () => this.startIfKilled(name)));
  }

  startIfKilled(name: string): void {
    if (this.processOf(name)?.state === 'killed') this.startProcess(name);
  }

  /** Ends every fault: processes run, clocks are right, and the network is whole. */
  repair(): void {
    this.network.healAll();
    this.backends.ledger.end();
    this.gatewayFile.write('usual');
    this.backends.disks.free(this.world.nowMs);
    for (const name of this.names) {
      const process = this.processOf(name);
      if (process === undefined) continue;
      process.clockOffsetMs = 0;
      process.survive();
      if (process.state === 'paused') this.world.resume(process);
      this.startIfKilled(name);
    }
  }

  processOf(name: string): WorldProcess | undefined {
    return this.#running.get(name)?.process;
  }

  metricsOf(name: string): Metrics | undefined {
    return this.#running.get(name)?.metrics;
  }

  /** The sum of counters over all processes, including those that have ended; or of one label. */
  async total(names: readonly string[], label?: string): Promise<number> {
    const read = async (metrics: Metrics, name: string) =>
      (await metrics.registry.getSingleMetric(name)?.get())?.values;
    const values = await Promise.all(this.#metrics.flatMap((metrics) => names.map((name) => read(metrics, name))));
    const samples = values.flat().filter((sample) => sample !== undefined);
    const counted = samples.filter(({ labels }) => label === undefined || Object.values(labels).includes(label));
    return counted.reduce((sum, { value }) => sum + value, 0);
  }

  kill(name: string): void {
    const process = this.processOf(name);
    if (process === undefined) return;
    if (process.state !== 'killed') this.backends.disks.noteEnd(name, this.world.nowMs);
    if (kindOf(name) === 'edge' && this.#running.get(name)?.isAway?.()) this.lostAloneAtMs.push(this.world.nowMs);
    process.kill();
    this.network.loseLinksOf(process);
  }

  /** Kills an edge, with what its disk has not written. */
  losePower(name: string): void {
    if (kindOf(name) !== 'edge' || this.processOf(name)?.state === 'killed') return this.kill(name);
    const chance = this.world.seeded.of(`power of ${name}`);
    const folder = join(this.#folder, name, 'outbox');
    const restore = this.backends.disks.losePower(folder, this.#outboxSynchronous(name), chance);
    this.kill(name);
    restore();
  }

  /** Each edge has a setting of its own. */
  #outboxSynchronous(name: string): OutboxSynchronous {
    const index = Number(/\d+$/.exec(name)?.[0]) + this.#firstSetting;
    return outboxSynchronous[index % outboxSynchronous.length] ?? 'off';
  }

  /** Whether an edge decides alone, or a limiter does not reach its store. */
  get isAnyAway(): boolean {
    return this.#running.values().some(({ process, isAway }) => process.state !== 'killed' && isAway?.() === true);
  }

  get areBrokersUp(): boolean {
    return this.namesOf('pool-broker').every((name) => this.processOf(name)?.state === 'running');
  }

  /** Whether limiters can compare their counters with the ledger. */
  get canCompare(): boolean {
    const names = (['redis', 'limiter', 'usage-query'] as const).flatMap((kind) => this.namesOf(kind));
    const isApart = names.some((one) => names.some((other) => this.network.isCut(one, other)));
    const areUp = names.every((name) => this.processOf(name)?.state === 'running');
    const isAnyAway = names.some((name) => this.#running.get(name)?.isAway?.() === true);
    return areUp && !isApart && !isAnyAway && !this.backends.ledger.isTroubled;
  }

  /** Stops a process as SIGTERM does, and starts it again. */
  restart(name: string): void {
    const running = this.#running.get(name);
    const { process, service, server } = running ?? {};
    if (process?.state !== 'running' || service === undefined) return;
    void process.run(async () => {
      service.announceDrain?.();
      await Promise.all([service.drain?.(drainMs), server?.stop()]);
      await service[Symbol.asyncDispose]();
      if (this.#running.get(name) !== running || process.state !== 'running') return;
      this.kill(name);
      this.startProcess(name);
    });
  }

  async #run(name: string, running: Running): Promise<void> {
    const runtime = { logger: createLogger(name, 'silent'), metrics: running.metrics };
    const { network, backends, gatewayFile } = this;
    const channel = (service: keyof typeof programs, port = rpcPort) =>
      new RpcChannel(
        network,
        service,
        Array.from({ length: this.#replicas[service] }, (_, n) => `${service}-${n + 1}:${port}`),
      );
    const folder = join(this.#folder, name);
    const program: Program = programs[kindOf(name)];
    const outboxSynchronous = this.#outboxSynchronous(name);
    const watchAway = (isAway: () => boolean) => {
      running.isAway = isAway;
    };
    const watched = { outboxSynchronous, watchAway };
    const service = await program({ name, network, runtime, folder, backends, gatewayFile, ...watched, channel });
    running.service = service;
    if (service.credentialRoutes !== undefined) serveRpc(network, credentialPort, service.credentialRoutes);
    running.server = serveRpc(network, rpcPort, service.routes as ServiceRoute[]);
    await service.start();
  }
}

/** As a container's grace period. */
export const drainMs = 30_000;

interface Running {
  readonly process: WorldProcess;
  isAway?: () => boolean;
  readonly metrics: Metrics;
  service?: Service;
  server?: { stop(): Promise<void> };
}

/** The kind of a process: its name without the number. */
export function kindOf(name: string): keyof typeof programs {
  return name.replace(/-\d+$/, '') as keyof typeof programs;
}
