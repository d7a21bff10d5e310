import { create } from '@bufbuild/protobuf';
import { type Overview, OverviewSchema, type Replica } from '@gateway/proto/admin/v1/system_service_pb.js';
import type { Logger } from '@gateway/telemetry';
import { epochMs, isWithin, monotonicMs, sleep, timeoutSignal } from '@gateway/time';
import type { PeopleState } from '../access/people-state.ts';
import type { AdminPeers } from '../parts.ts';
import { orAborted } from '../peer-calls.ts';
import { attentionOf } from './attention.ts';
import { Counting } from './counted-figures.ts';
import { FigureHistory } from './figure-history.ts';
import { maxOf, sumOf } from './prometheus-text.ts';
import { type ReadReplica, readReplica, toReplica } from './replica.ts';

/** The figures of the gateway, and the state of its replicas. */
export interface Figures {
  readonly atMs: number;
  readonly overview: Overview;
  readonly replicas: readonly Replica[];
}

export interface FigureReaderOptions {
  readonly peers: Pick<AdminPeers, 'replicas' | 'broker' | 'usageLedger'>;
  readonly people: () => Promise<PeopleState>;
  /** As in `Overview`. */
  readonly notes?: readonly string[];
  readonly logger: Logger;
  /** The time between two readings: while an operator watches, and otherwise. */
  readonly intervalsMs?: { readonly watched: number; readonly otherwise: number };
}

/** The shortest time between readings on demand, for callers that do not watch. */
const freshMs = 1_000;
/** A reading that takes longer leaves out the replicas that did not answer. */
const readingTimeoutMs = 5_000;
/** Dead letters are in the database: they are counted less often. */
const deadLettersEveryMs = 60_000;
const peopleEveryMs = 10_000;

/**
 * Reads the figures of all replicas, once for all viewers. It reads more slowly while there are no
 * viewers, so that there is always a history.
 */
export class FigureReader {
  readonly #options: FigureReaderOptions;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  readonly #counting = new Counting();
  readonly #history = new FigureHistory();
  #replicas: ReadonlyMap<string, ReadReplica> = new Map();
  #longestCertificateSeconds: ReadonlyMap<string, number> = new Map();
  #deadLetters = { count: 0, readAtMs: 0 };
  #people: PeopleState | undefined;
  #peopleReadAtMs = 0;
  #watchers = 0;
  #sleeping = new AbortController();
  #latest: Figures | undefined;
  #next = Promise.withResolvers<Figures>();

  constructor(options: FigureReaderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#readOnAndOn();
  }

  /** The current figures, at most one second old. */
  async read(signal: AbortSignal): Promise<Figures> {
    const latest = this.#latest;
    if (latest !== undefined && isWithin(freshMs, latest.atMs, epochMs())) return latest;
    this.#sleeping.abort();
    return orAborted(this.#next.promise, AbortSignal.any([signal, this.#stop.signal]));
  }

  /** Reads again and again, until the signal. */
  async *watch(signal: AbortSignal): AsyncGenerator<Figures> {
    const either = AbortSignal.any([signal, this.#stop.signal]);
    this.#watchers += 1;
    this.#sleeping.abort();
    try {
      while (!either.aborted) yield await orAborted(this.#next.promise, either);
    } catch (thrown) {
      if (!either.aborted) throw thrown;
    } finally {
      this.#watchers -= 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #readOnAndOn(): Promise<void> {
    const { watched, otherwise } = this.#options.intervalsMs ?? { watched: 2_000, otherwise: 10_000 };
    while (!this.#stop.signal.aborted) {
      this.#sleeping = new AbortController();
      const begunAtMs = monotonicMs();
      await this.#readOnce().catch((thrown: unknown) => {
        if (!this.#stop.signal.aborted)
          this.#options.logger.warn({ err: thrown }, 'metrics of a replica could not be read');
      });
      const intervalMs = this.#watchers > 0 ? watched : otherwise;
      const signal = AbortSignal.any([this.#stop.signal, this.#sleeping.signal]);
      await sleep(Math.max(0, intervalMs - (monotonicMs() - begunAtMs)), { signal, ref: false }).catch(() => {});
    }
  }

  async #readOnce(): Promise<void> {
    const { peers } = this.#options;
    const signal = AbortSignal.any([this.#stop.signal, timeoutSignal(readingTimeoutMs)]);
    const next = this.#next;
    const [readings, pools] = await Promise.all([
      peers.replicas.read(signal),
      // The list of replicas shows a broker that is away.
      peers.broker.listAccounts({}, { signal, timeoutMs: readingTimeoutMs }).catch(() => undefined),
      this.#countDeadLetters(signal),
      this.#readPeople(signal),
    ]);
    const atMs = epochMs();
    const replicas = new Map(
      readings.map((reading) => [`${reading.service} ${reading.address}`, readReplica(reading, atMs)]),
    );
    const shown = [...replicas].map(([key, replica]) => toReplica(replica, this.#replicas.get(key)));
    this.#replicas = replicas;
    const totals = this.#counting.add(new Map([...replicas].map(([key, { samples }]) => [key, samples])));
    this.#history.add({ atMs, totals, openStreams: openStreamsOf([...replicas.values()]) });
    this.#rememberCertificates(atMs);
    const attention = attentionOf({
      nowMs: atMs,
      replicas: [...replicas.values()],
      history: this.#history,
      accounts: pools?.accounts ?? [],
      forecasts: pools?.forecasts ?? [],
      pauses: pools?.pauses ?? [],
      deadLetters: this.#deadLetters.count,
      people: this.#people,
      longestCertificateSeconds: this.#longestCertificateSeconds,
    });
    const points = [...this.#history.points];
    const notes = [...(this.#options.notes ?? [])];
    const overview = create(OverviewSchema, { atMs, points, attention: [...attention], notes });
    this.#latest = { atMs, overview, replicas: shown };
    this.#next = Promise.withResolvers();
    next.resolve(this.#latest);
  }

  async #countDeadLetters(signal: AbortSignal): Promise<void> {
    if (epochMs() < this.#deadLetters.readAtMs + deadLettersEveryMs) return;
    const { usageLedger } = this.#options.peers;
    const call = { signal, timeoutMs: readingTimeoutMs };
    const answer = await usageLedger.replayDeadLetters({ dryRun: true }, call).catch(() => undefined);
    if (answer === undefined) return;
    const { replayed, duplicates, stillDead } = answer;
    this.#deadLetters = { count: replayed + duplicates + stillDead.length, readAtMs: epochMs() };
  }

  /** While identity does not answer, what was known last stays. */
  async #readPeople(signal: AbortSignal): Promise<void> {
    if (epochMs() < this.#peopleReadAtMs + peopleEveryMs) return;
    const read = await orAborted(this.#options.people(), signal).catch(() => undefined);
    if (read === undefined) return;
    this.#people = read;
    this.#peopleReadAtMs = epochMs();
  }

  #rememberCertificates(atMs: number): void {
    const longest = [...this.#replicas.values()].flatMap(({ address, samples }) => {
      const notAfter = maxOf(samples, 'gateway_certificate_not_after_timestamp_seconds');
      const before = this.#longestCertificateSeconds.get(address) ?? 0;
      return notAfter === undefined ? [] : [[address, Math.max(before, notAfter - atMs / 1_000)] as const];
    });
    this.#longestCertificateSeconds = new Map(longest);
  }
}

function openStreamsOf(replicas: readonly ReadReplica[]): number {
  return replicas.reduce((sum, { samples }) => sum + (sumOf(samples, 'gateway_open_streams') ?? 0), 0);
}
