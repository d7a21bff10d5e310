import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { OutageTolerantLimiter } from '@gateway/edge-router/admission/outage-tolerant-limiter';
import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { openChannel } from '@gateway/rpc/grpc';
import { freePorts, programOf } from '@gateway/testkit';
import { type RunningCommand, startCommand, untilReady } from '../topologies/gateway-process.ts';

const windowMs = 60_000;

export interface LimitedKey {
  readonly key: string;
  readonly limit: number;
}

/** The result of one call. */
export interface Asked {
  readonly key: string;
  readonly requestId: string;
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly outcome: 'admitted' | 'refused' | 'failed';
  /** Decided without Redis. */
  readonly isDegraded: boolean;
}

/** Limiters as processes, each with an edge's admission that asks it. Callers use them evenly. */
export class Limiters implements AsyncDisposable {
  readonly edges: readonly OutageTolerantLimiter[];
  readonly #stack: AsyncDisposableStack;

  static async start(count: number, env: Readonly<Record<string, string>>): Promise<Limiters> {
    await using stack = new AsyncDisposableStack();
    const starts = Array.from({ length: count }, async () => {
      const [grpcPort, adminPort] = (await freePorts(2)).map(String);
      const ports = { GRPC_PORT: grpcPort ?? '', ADMIN_PORT: adminPort ?? '', HOST: '127.0.0.1' };
      const command: RunningCommand = stack.use(
        startCommand(process.execPath, [programOf('limiter')], { LOG_LEVEL: 'warn', ...env, ...ports }),
      );
      await untilReady(`http://127.0.0.1:${adminPort}`, command, 120_000);
      const limiter = stack.use(openChannel(`http://127.0.0.1:${grpcPort}`)).client(LimiterService);
      const edge = stack.use(new OutageTolerantLimiter({ limiter, events, ...asByDefault }));
      await edge.start();
      return edge;
    });
    const edges = await Promise.all(starts);
    return new Limiters(edges, stack.move());
  }

  private constructor(edges: readonly OutageTolerantLimiter[], stack: AsyncDisposableStack) {
    this.edges = edges;
    this.#stack = stack;
  }

  /** Asks every edge for every key repeatedly, until the signal. Returns all calls in order. */
  async load(keys: readonly LimitedKey[], everyMs: number, signal: AbortSignal, seen: Asked[]): Promise<void> {
    const calls: Promise<void>[] = [];
    for (let turn = 0; !signal.aborted; turn++) {
      // No edge is always the first.
      const edges = turn % 2 === 0 ? this.edges : this.edges.toReversed();
      for (const edge of edges) {
        for (const key of keys) calls.push(ask(edge, key).then((asked) => void seen.push(asked)));
      }
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
    await Promise.all(calls);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

const ignore = () => undefined;
const ofLimiter = { limiterAway: ignore, limiterBack: ignore };
const events = { ...ofLimiter, admittedLocally: ignore, settleKept: ignore, faulted: ignore };
const asByDefault = { patienceMs: 15_000, failureMode: 'local', localMaxMs: 300_000 } as const;

async function ask(edge: OutageTolerantLimiter, { key, limit }: LimitedKey): Promise<Asked> {
  const requestId = randomUUID();
  const sentMs = Date.now();
  try {
    const limits = { requestsPerMinute: limit };
    const check = { key, requestId, limits, costKind: CostKind.REQUEST_ONLY };
    const { refusal, status } = await edge.admit(check);
    const outcome = refusal === undefined ? 'admitted' : 'refused';
    return { key, requestId, sentMs, answeredMs: Date.now(), outcome, isDegraded: status?.degraded ?? false };
  } catch {
    return { key, requestId, sentMs, answeredMs: Date.now(), outcome: 'failed', isDegraded: false };
  }
}

/**
 * The most admissions of a key that are certain to lie within one minute. The beginning and the end
 * of each call are known.
 */
export function mostInAMinute(asked: readonly Asked[], key: string): number {
  const admitted = asked.filter((each) => each.key === key && each.outcome === 'admitted');
  const bySent = admitted.toSorted((a, b) => a.sentMs - b.sentMs);
  const within = (fromMs: number) =>
    bySent.filter(({ sentMs, answeredMs }) => sentMs >= fromMs && answeredMs < fromMs + windowMs).length;
  return Math.max(0, ...bySent.map(({ sentMs }) => within(sentMs)));
}

/** The longest time without an answer that admits a request of the key. */
export function longestGapMs(asked: readonly Asked[], key: string): number {
  const answers = asked
    .filter((each) => each.key === key && each.outcome === 'admitted')
    .map(({ answeredMs }) => answeredMs)
    .toSorted((a, b) => a - b);
  return Math.max(...answers.slice(1).map((atMs, n) => atMs - (answers[n] ?? atMs)));
}
