import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import { Schedule } from './model-list-schedule.ts';
import { readModelList } from './read-model-list.ts';

export interface ModelListReporterOptions {
  readonly context: AdapterContext;
  readonly broker: Client<typeof PoolBrokerService>;
}

/** Disposing it stops the reports. */
export interface ModelListReporter extends AsyncDisposable {
  /** Reports at once, then on the timer. */
  start(): void;
  /** Whether the broker has answered yet. Without it there are no credentials, so nothing can be asked of a provider. */
  readonly hasReachedBroker: boolean;
}

/** Tells the broker, on a timer, what the provider of each pool of the format offers, or that it can't be reached. */
export function createModelListReporter({ context, broker }: ModelListReporterOptions): ModelListReporter {
  const stop = new AbortController();
  const reach: Reach = { broker: false };
  let running: Promise<void> = Promise.resolve();
  return {
    start() {
      running = reportUntil(stop.signal, context, broker, reach);
    },
    get hasReachedBroker() {
      return reach.broker;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/** What has answered so far. */
interface Reach {
  broker: boolean;
}

async function reportUntil(
  signal: AbortSignal,
  context: AdapterContext,
  broker: Client<typeof PoolBrokerService>,
  reach: Reach,
): Promise<void> {
  const troubles = new Troubles(context);
  const schedule = new Schedule();
  while (!signal.aborted) {
    const told = await reportDue(signal, context, broker, { troubles, schedule, reach });
    const retryMs = reach.broker ? brokerRetryMs : firstBrokerRetryMs;
    const pauseMs = told ? schedule.pauseMs : Math.min(schedule.pauseMs, retryMs);
    await sleep(jittered(pauseMs), undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** How soon the broker is asked again when it did not answer. */
const brokerRetryMs = 2_000;
/** The same at a start, when all services come up at once. */
const firstBrokerRetryMs = 200;
const brokerDeadlineMs = 5_000;

/** Spreads replicas that started together. */
function jittered(durationMs: number): number {
  return durationMs * (0.9 + 0.2 * Math.random());
}

interface Round {
  readonly troubles: Troubles;
  readonly schedule: Schedule;
  readonly reach: Reach;
}

/** One round over the pools that are due, side by side: one that hangs does not hold up the others. False when the broker is away. */
async function reportDue(
  signal: AbortSignal,
  context: AdapterContext,
  broker: Client<typeof PoolBrokerService>,
  { troubles, schedule, reach }: Round,
): Promise<boolean> {
  try {
    const listed = await broker.listPools({ format: context.format.id }, { signal, timeoutMs: brokerDeadlineMs });
    reach.broker = true;
    const due = schedule.duePools(listed);
    await Promise.all(due.map((name) => reportPool(name, signal, context, broker, troubles)));
    troubles.over('broker');
    return true;
  } catch (thrown) {
    schedule.startAnew();
    if (!signal.aborted) troubles.noted('broker', thrown);
    return false;
  }
}

async function reportPool(
  pool: string,
  signal: AbortSignal,
  context: AdapterContext,
  broker: Client<typeof PoolBrokerService>,
  troubles: Troubles,
): Promise<void> {
  const options = { signal, timeoutMs: brokerDeadlineMs };
  const models = await readModelList(context, pool, signal).catch((thrown: unknown) => {
    if (!signal.aborted) troubles.noted(`pool ${pool}`, thrown);
    return undefined;
  });
  if (signal.aborted) return;
  if (models === undefined) {
    await broker.reportModels({ pool, reachable: false }, options);
    return;
  }
  troubles.over(`pool ${pool}`);
  await broker.reportModels({ pool, reachable: true, models: [...models] }, options);
}

/** Logs a trouble when it begins and when it is over, not each time it is met. */
class Troubles {
  readonly #context: AdapterContext;
  readonly #present = new Set<string>();

  constructor(context: AdapterContext) {
    this.#context = context;
  }

  noted(subject: string, thrown: unknown): void {
    if (this.#present.has(subject)) return;
    this.#present.add(subject);
    this.#context.logger.warn({ subject, reason: reasonOf(thrown) }, 'model lists can’t be reported');
  }

  over(subject: string): void {
    if (!this.#present.delete(subject)) return;
    this.#context.logger.info({ subject }, 'model lists are reported again');
  }
}

/** Errors of ours have words of ours; the words of others may be the provider's. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof GatewayError || thrown instanceof RpcError || thrown instanceof UpstreamError) {
    return thrown.message;
  }
  return thrown instanceof Error ? thrown.name : typeof thrown;
}
