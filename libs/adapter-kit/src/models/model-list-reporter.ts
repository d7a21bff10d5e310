import { GatewayError } from '@gateway/errors';
import type { ListPoolsResponse, Pool, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { monotonicMs, random, sleep } from '@gateway/time';
import type { AdapterContext } from '../adapter-context.ts';
import { modelListCause, readModelList } from '../rpc/list-models.ts';

/**
 * Periodically reports to the broker which models the provider of each pool offers, or that it
 * can't be reached. Disposal stops the reports.
 */
export class ModelListReporter implements AsyncDisposable {
  readonly #context: AdapterContext;
  readonly #broker: Client<typeof PoolBrokerService>;
  readonly #schedule = new Schedule();
  readonly #stop = new AbortController();
  /** What can't be read or reported at present: logged when the problem starts and when it ends. */
  readonly #problems = new Set<string>();
  #running: Promise<void> = Promise.resolve();
  /**
   * Whether the broker has ever answered. Without it there are no credentials, so no provider can
   * be asked.
   */
  hasReachedBroker = false;

  constructor(context: AdapterContext, broker: Client<typeof PoolBrokerService>) {
    this.#context = context;
    this.#broker = broker;
  }

  /** Reports at once, then periodically. */
  start(): void {
    this.#running = this.#run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const hasReported = await this.#reportDue(signal);
      const retryMs = this.hasReachedBroker ? brokerRetryMs : firstBrokerRetryMs;
      const pauseMs = hasReported ? this.#schedule.pauseMs : Math.min(this.#schedule.pauseMs, retryMs);
      // Jitter for replicas that started together.
      const jitteredMs = pauseMs * (0.9 + 0.2 * random());
      await sleep(jitteredMs, { signal, ref: false }).catch(() => undefined);
    }
  }

  /**
   * One round over the pools that are due, concurrently: one that hangs does not delay the others.
   * False when the broker is away.
   */
  async #reportDue(signal: AbortSignal): Promise<boolean> {
    try {
      const options = { signal, timeoutMs: brokerDeadlineMs };
      const listed = await this.#broker.listPools({ format: this.#context.format.id }, options);
      this.hasReachedBroker = true;
      await Promise.all(this.#schedule.duePools(listed).map((pool) => this.#reportPool(pool, signal)));
      this.#onSuccess('broker');
      return true;
    } catch (thrown) {
      this.#schedule.startAnew();
      if (!signal.aborted) this.#onProblem('broker', thrown);
      return false;
    }
  }

  async #reportPool(pool: string, signal: AbortSignal): Promise<void> {
    let cause = '';
    const models = await readModelList(this.#context, pool, signal).catch((thrown: unknown) => {
      cause = modelListCause(thrown);
      if (!signal.aborted) this.#onProblem(`pool ${pool}`, thrown);
    });
    if (signal.aborted) return;
    if (models !== undefined) this.#onSuccess(`pool ${pool}`);
    const report = { pool, reachable: models !== undefined, models: [...(models ?? [])], cause };
    await this.#broker.reportModels(report, { signal, timeoutMs: brokerDeadlineMs });
  }

  #onProblem(subject: string, thrown: unknown): void {
    if (this.#problems.has(subject)) return;
    this.#problems.add(subject);
    const { logger } = this.#context;
    // A pool without an account may be one that is not used.
    const level = thrown instanceof GatewayError && thrown.code === 'not_found' ? 'info' : 'warn';
    logger[level]({ subject, reason: modelListCause(thrown) }, "model lists can't be read or reported");
  }

  #onSuccess(subject: string): void {
    if (this.#problems.delete(subject)) this.#context.logger.info({ subject }, 'model lists are reported again');
  }
}

/** The pause before asking a broker again that did not answer. */
const brokerRetryMs = 2_000;
/** The same pause at the start, when all services start together. */
const firstBrokerRetryMs = 200;
const brokerDeadlineMs = 5_000;

/**
 * Decides when to read each pool's list. The broker determines the interval, and is asked far more
 * often, because its setting and its pools may change at any time.
 */
export class Schedule {
  #refreshMs = defaultRefreshMs;
  #readAtMs = new Map<string, number>();

  /** The pause before the broker is asked again. */
  get pauseMs(): number {
    return Math.min(this.#refreshMs, longestPauseMs);
  }

  /** The pools whose lists must be read now. */
  duePools({ pools, modelListRefreshSeconds }: ListPoolsResponse): readonly string[] {
    this.#refreshMs = modelListRefreshSeconds > 0 ? modelListRefreshSeconds * 1_000 : defaultRefreshMs;
    const nowMs = monotonicMs();
    const lastReadAtMs = this.#readAtMs;
    // A broker without a report has lost it, or has never had one.
    const isDue = ({ name, modelsReportedAtMs, modelListFailure }: Pool) => {
      const refreshMs = modelListFailure === '' ? this.#refreshMs : Math.min(this.#refreshMs, failedRefreshMs);
      const readAtMs = lastReadAtMs.get(name) ?? Number.NEGATIVE_INFINITY;
      return modelsReportedAtMs === undefined || nowMs - readAtMs >= refreshMs - this.pauseMs / 2;
    };
    const due = pools.filter(isDue).map(({ name }) => name);
    this.#readAtMs = new Map(
      pools.map(({ name }) => [name, due.includes(name) ? nowMs : (lastReadAtMs.get(name) ?? nowMs)]),
    );
    return due;
  }

  /** Makes all lists due. */
  startAnew(): void {
    this.#readAtMs.clear();
  }
}

/** The interval when the broker does not name one. */
const defaultRefreshMs = 60_000;
/** An operator who has corrected a key or an address waits for a list that could not be read. */
const failedRefreshMs = 10_000;
const longestPauseMs = 5_000;
