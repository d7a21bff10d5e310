import { setTimeout as sleep } from 'node:timers/promises';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { openChannel } from '@gateway/rpc/grpc';
import type { RecordedRequest } from '@gateway/simulator';
import type { ServiceName } from '@gateway/testkit';
import { roomMs, roomSeconds } from '@gateway/testkit/room';
import { issueToken, type TestToken } from '../../client/tokens.ts';
import { type ReplicatedServices, startReplicatedServices } from '../../topologies/replicated-services.ts';
import { describeRequest, findTraces } from '../audit/describe-request.ts';
import { type Judgement, judgeRequests } from '../audit/judge-requests.ts';
import { type Quiet, waitForQuiet } from '../audit/wait-for-quiet.ts';
import type { FaultScene } from '../injections/injection.ts';
import { LedgerTap } from '../injections/ledger-tap.ts';
import { UsageStreamTap } from '../injections/usage-stream-tap.ts';
import { type ClientRequest, Load, type LoadClient } from '../load/clients.ts';
import type { RequestKind } from '../load/request-kinds.ts';
import { RandomNumbers } from '../random-numbers.ts';
import { Exchange } from './exchange.ts';
import { poolsGatewayFile, responsesModels } from './gateway-file.ts';
import { chatStream } from './kinds.ts';

export interface Ask {
  readonly kind: RequestKind;
  /**
   * The number of the edge, from 0. It calls the broker of its number, and the adapters of its
   * number or of two less.
   */
  readonly edge?: number;
  /** The length of the answer: four more words for each, in several events. Default 1. */
  readonly length?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A token that sends nothing else meanwhile. Default: a new one. */
  readonly token?: TestToken;
  /**
   * False if a fault replaces the answer, so that its usage differs from the simulated provider's
   * bill. Default true.
   */
  readonly isAudited?: boolean;
}

/** An exchange, with the data that identifies it in other records. */
export interface AskedExchange {
  readonly exchange: Exchange;
  readonly marker: string;
  readonly token: TestToken;
}

/** The results at the end. */
export interface Aftermath {
  readonly quiet: Quiet;
  readonly judgement: Judgement;
  /** Descriptions of failed requests. */
  readonly descriptions: readonly string[];
}

/** The longest accepted silence in the middle of an answer here. */
export const idleTimeoutMs = roomSeconds(4) * 1_000;
/** The timeout of the token endpoint here. */
export const oauthTimeoutMs = Math.min(roomSeconds(6), 30) * 1_000;

const edges = 3;

/**
 * Three edges with a broker each, and two adapters for each format; everything of one test run,
 * under a light load.
 */
export class PoolScene implements AsyncDisposable {
  readonly gateway: ReplicatedServices;
  readonly ledger: LedgerTap;
  readonly load: Load;
  readonly logs: readonly string[];
  readonly #stream: UsageStreamTap;
  readonly #resources: AsyncDisposable;
  readonly #asked: ClientRequest[] = [];
  readonly #unaudited = new Set<string>();
  readonly #unended = new Set<Promise<unknown>>();

  static async open(): Promise<PoolScene> {
    await using stack = new AsyncDisposableStack();
    const logs: string[] = [];
    const gateway = stack.use(
      await startReplicatedServices({
        replicas: { 'edge-router': edges, 'pool-broker': edges, 'responses-adapter': 2, 'messages-adapter': 2 },
        eventDelayMs: 15,
        env: {
          HEARTBEAT_SECONDS: '1',
          UPSTREAM_IDLE_TIMEOUT_SECONDS: String(idleTimeoutMs / 1_000),
          OAUTH_TIMEOUT_SECONDS: String(oauthTimeoutMs / 1_000),
          ACCOUNT_KEYS: `k1:${'ab'.repeat(32)}`,
        },
        simulator: { responsesModels },
        gatewayFile: poolsGatewayFile,
        onLine: (service, line) => logs.push(`${service} ${line}`),
      }),
    );
    const ledger = new LedgerTap(gateway.postgres.url);
    const stream = stack.use(await UsageStreamTap.open(gateway.nats.url));
    const load = await startLoad(gateway);
    stack.defer(() => load.stop());
    const scene = new PoolScene({ gateway, ledger, stream, load, logs }, stack.move());
    for (let edge = 0; edge < edges; edge++) await scene.answersAgain(edge);
    // Accounts with grants get their first access tokens now: only tokens of some age are replaced.
    const pools = ['lonely', 'orphaned', 'renewed', 'renewed', 'renewed'] as const;
    await Promise.all(pools.map((pool) => scene.askToEnd({ kind: chatStream(pool) })));
    return scene;
  }

  private constructor(
    parts: Pick<FaultScene, 'gateway' | 'ledger' | 'stream' | 'load'> & { readonly logs: readonly string[] },
    resources: AsyncDisposable,
  ) {
    this.gateway = parts.gateway;
    this.ledger = parts.ledger;
    this.load = parts.load;
    this.logs = parts.logs;
    this.#stream = parts.stream;
    this.#resources = resources;
  }

  get simulator() {
    return this.gateway.simulator;
  }

  /** A token without limits. */
  freshToken(): Promise<TestToken> {
    return issueToken(this.gateway, { kind: 'personal' });
  }

  /** Starts a request, and records its result for the audit. */
  async ask({ kind, edge = 0, length = 1, headers = {}, token, isAudited = true }: Ask): Promise<AskedExchange> {
    const asking = token ?? (await this.freshToken());
    const marker = `marker-${crypto.randomUUID()}`;
    const text = `${marker} ${'and another few words '.repeat(length)}`.trim();
    const baseUrl = this.replica('edge-router', edge).publicUrl ?? '';
    const exchange = new Exchange({ baseUrl, token: asking.text, kind, text, headers });
    if (!isAudited) this.#unaudited.add(asking.tokenId);
    const noted = exchange.ended.then(({ asked, startedMs, endedMs }) => {
      this.#asked.push({ ...asked, marker, tokenId: asking.tokenId, kind, edge, startedMs, endedMs });
      this.#unended.delete(noted);
    });
    this.#unended.add(noted);
    return { exchange, marker, token: asking };
  }

  /** Sends a request, and waits for the end. */
  async askToEnd(ask: Ask): Promise<AskedExchange> {
    const asked = await this.ask(ask);
    await asked.exchange.ended;
    return asked;
  }

  /** Resolves when an edge serves, with either format. */
  async answersAgain(edge: number): Promise<void> {
    const giveUpAtMs = Date.now() + roomMs(30_000);
    for (const kind of [chatStream('first'), chatStream('second')]) {
      while ((await this.askToEnd({ kind, edge })).exchange.status !== 200) {
        if (Date.now() > giveUpAtMs) throw new Error(`Edge ${edge} does not serve again.`);
        await sleep(100);
      }
    }
  }

  replica(service: ServiceName, index: number) {
    const replica = this.gateway.replicas[service][index];
    if (replica === undefined) throw new Error(`There is no ${service} of number ${index}.`);
    return replica;
  }

  /** The providers' records of a request, oldest first. */
  attemptsOf(marker: string): readonly RecordedRequest[] {
    return this.simulator.requests().filter(({ body }) => Buffer.from(body).includes(marker));
  }

  /** The answers that an account was asked for, without model lists. */
  generationsOf(account: string): readonly RecordedRequest[] {
    return this.simulator.requests({ account }).filter(({ method }) => method === 'POST');
  }

  /** The number of requests that have begun since then, and ended. */
  requestsSince(sinceMs: number): number {
    return [...this.load.requests, ...this.#asked].filter(({ startedMs }) => startedMs >= sinceMs).length;
  }

  async rowsOf({ tokenId }: TestToken) {
    return (await this.ledger.rows()).filter((row) => row.tokenId === tokenId);
  }

  /** The requests in progress of each account of a pool, as a broker knows them. */
  async inFlight(pool: string, broker: number): Promise<readonly number[]> {
    using channel = openChannel(this.replica('pool-broker', broker).grpcUrl);
    const { accounts } = await channel.client(PoolBrokerService).listAccounts({ pool }, { timeoutMs: roomMs(10_000) });
    return accounts.map(({ inFlight }) => inFlight);
  }

  /** The sum of a metric over all processes of a service. */
  async metric(service: ServiceName, name: string): Promise<number> {
    const texts = await Promise.all(
      this.gateway.replicas[service].map(async ({ adminUrl }) =>
        (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(roomMs(10_000)) })).text(),
      ),
    );
    const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line.startsWith(name));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  /** Ends the load, waits until all parts are idle, and compares. */
  async audit(): Promise<Aftermath> {
    await this.load.stop();
    await Promise.all(this.#unended);
    const field: FaultScene = {
      gateway: this.gateway,
      stream: this.#stream,
      ledger: this.ledger,
      load: this.load,
      random: new RandomNumbers(1),
      effects: { poisons: 0, repeated: 0, committedAfterDeath: 0, wiped: new Map() },
    };
    const quiet = await waitForQuiet(field, roomMs(30_000));
    const judgement = judgeRequests({
      requests: [...this.load.requests, ...this.#asked].filter(({ tokenId }) => !this.#unaudited.has(tokenId)),
      recorded: this.simulator.requests(),
      rows: (await this.ledger.rows()).filter(({ tokenId }) => !this.#unaudited.has(tokenId)),
      wiped: [],
    });
    const bad = judgement.requests.filter(
      ({ verdict, request }) =>
        verdict === 'lost' || verdict === 'doubled' || verdict === 'wrong' || request.problem !== undefined,
    );
    const traces = bad.length === 0 ? { outboxes: [], messages: [] } : await findTraces(field);
    return { quiet, judgement, descriptions: bad.map((judged) => describeRequest(judged, traces)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources[Symbol.asyncDispose]();
  }
}

/** Clients of every endpoint at every edge, on accounts that no fault affects. */
async function startLoad({ operator, replicas }: ReplicatedServices): Promise<Load> {
  const clients = await Promise.all(
    Array.from({ length: 6 }, async (): Promise<LoadClient> => {
      const limits = { requestsPerMinute: 100_000, tokensPerDay: 1_000_000_000 };
      return { kind: 'service', token: await issueToken({ operator }, limits) };
    }),
  );
  return new Load({
    clients,
    edges: replicas['edge-router'].map(({ publicUrl }) => publicUrl ?? ''),
    random: new RandomNumbers(7),
    pauseMs: 400,
  });
}
