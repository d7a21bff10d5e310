import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AdapterService, type ExecuteResponseSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { IdentityService, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { AttemptResult, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { type AcquireResponseSchema, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClient, RpcError, serviceRoute } from '@gateway/rpc';
import { activeTraceparent, createLogger, Metrics } from '@gateway/telemetry';
import { createTokenText } from '@gateway/tokens';
import { outageTolerant } from '../admission/outage-tolerant-limiter.ts';
import { type EdgeRouterConfig, readEdgeRouterConfig } from '../config.ts';
import { createEdgeRouterService } from '../service.ts';

export type Acquired = MessageInitShape<typeof AcquireResponseSchema>['result'];
/** A call that the edge makes while a request waits for it. */
export type Call = 'resolve' | 'admit' | 'peek' | 'acquire' | 'execute' | 'countTokens' | 'listModels' | 'getUsage';

export type Frame = MessageInitShape<typeof ExecuteResponseSchema>;

/**
 * The whole edge on a port of its own, with scripted services in its process. `acquired` and
 * `frames` define their answers.
 */
export class WholeEdge implements AsyncDisposable {
  readonly metrics = new Metrics();
  /** The broker's answer to a request for a model, by the number of attempts so far. */
  acquired: (model: string, attempts: number) => Acquired = (model) => leaseOf('a', { model });
  /** The adapter's answer, by account. */
  frames: (accountId: string) => readonly Frame[] = () => streamed;
  /** Awaited by identity before it resolves a token. */
  beforeResolve: () => Promise<void> = async () => undefined;
  /** What calls fail with. */
  readonly failures = new Map<Call, unknown>();
  isLimited = false;
  isLimiterAway = false;
  /** How long the adapter takes to start an answer. */
  beginsAfterMs = 0;
  /** Awaited before an answer ends. */
  hang: Promise<void> = Promise.resolve();
  /** The active `traceparent` in each call of a service. */
  readonly calls: { readonly what: string; readonly traceparent: string | undefined }[] = [];
  readonly heartbeats: (string | undefined)[] = [];
  readonly #stack = new AsyncDisposableStack();
  port = 0;

  static async start(settings: Partial<EdgeRouterConfig> = {}): Promise<WholeEdge> {
    const edge = new WholeEdge();
    const folder = await mkdtemp(join(tmpdir(), 'edge-'));
    edge.#stack.defer(() => rm(folder, { recursive: true, force: true }));
    const runtime = { logger: createLogger('edge-router', 'silent'), metrics: edge.metrics };
    const config = { ...readEdgeRouterConfig({ PORT: '0', GATEWAY_DATA: folder }), ...settings };
    const service = edge.#stack.use(await createEdgeRouterService(config, edge.#peers(), runtime));
    await service.start();
    edge.port = service.port;
    return edge;
  }

  get #url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.#url}${path}`, { headers: { ...authorization, ...headers } });
  }

  post(path: string, body: object, init: Readonly<{ headers?: object; signal?: AbortSignal }> = {}): Promise<Response> {
    const headers = { ...authorization, 'content-type': 'application/json', ...init.headers };
    return fetch(`${this.#url}${path}`, { ...init, method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** A streamed answer to a Messages request, read to its end. */
  async ask(model: string, init?: Parameters<WholeEdge['post']>[2]): Promise<Response> {
    const body = { model, max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'a secret' }] };
    const response = await this.post('/v1/messages', body, init);
    await response.text();
    return response;
  }

  /** The samples of a metric as exposed. */
  async samples(name: string): Promise<readonly string[]> {
    const lines = (await this.metrics.exposition()).split('\n');
    return lines.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** @throws the failure of the call, if it has one. */
  #fail(call: Call): void {
    if (this.failures.has(call)) throw this.failures.get(call);
  }

  #note(what: string): void {
    this.calls.push({ what, traceparent: activeTraceparent() });
  }

  #peers() {
    const note = (what: string) => this.#note(what);
    const fail = (call: Call) => this.#fail(call);
    const script = this;
    const token = create(TokenSchema, {
      tokenId: randomUUID(),
      kind: TokenKind.SERVICE,
      limits: { requestsPerMinute: 100, tokensPerDay: 1_000_000 },
    });
    const adapter = directClient(
      serviceRoute(AdapterService, {
        async *execute(requests) {
          note('execute');
          fail('execute');
          let accountId = '';
          for await (const { head } of requests) accountId = head?.lease?.accountId ?? accountId;
          if (script.beginsAfterMs > 0) await sleep(script.beginsAfterMs);
          yield* script.frames(accountId);
          await script.hang;
        },
        countTokens: async () => {
          fail('countTokens');
          return { inputTokens: 3, result: succeeded };
        },
        listModels: () => ({}),
        probeAccount: () => ({}),
      }),
    );
    return {
      identity: directClient(
        serviceRoute(IdentityService, {
          resolve: async () => {
            await script.beforeResolve();
            fail('resolve');
            return { token };
          },
          // biome-ignore lint/correctness/useYield: nothing changes.
          async *watchChanges(_request, { signal }) {
            await once(signal, 'abort');
          },
          issue: () => ({}),
          revoke: () => ({}),
          update: () => ({}),
          rotate: () => ({}),
          list: () => ({}),
        }),
      ),
      signIn: directClient(
        serviceRoute(SignInService, {
          beginDeviceGrant: () => ({}),
          redeemDeviceCode: () => ({}),
          refreshSession: () => ({}),
          endSession: () => ({}),
        }),
      ),
      limiter: outageTolerant(
        directClient(
          serviceRoute(LimiterService, {
            admit: () => {
              note('admit');
              fail('admit');
              if (script.isLimiterAway) throw new RpcError('unavailable', 'away');
              return script.isLimited ? { refusal: { limit: LimitName.TOKENS_PER_DAY } } : {};
            },
            settle: () => {
              note('settle');
              return {};
            },
            peek: () => {
              fail('peek');
              return {};
            },
            async *admitStream() {},
            reserve: () => ({}),
            renew: () => ({}),
            heartbeat: () => {
              script.heartbeats.push(activeTraceparent());
              if (script.isLimiterAway) throw new RpcError('unavailable', 'away');
              return { replicas: 1 };
            },
          }),
        ),
      ),
      broker: directClient(
        serviceRoute(PoolBrokerService, {
          acquire: ({ model, attempts }) => {
            note('acquire');
            fail('acquire');
            return { result: script.acquired(model, attempts.length) ?? { case: 'unavailable', value: {} } };
          },
          report: () => ({}),
          renewLeases: () => ({}),
          listModels: () => {
            fail('listModels');
            return {};
          },
          // biome-ignore lint/correctness/useYield: nothing changes.
          async *watchCatalog(_request, { signal }) {
            await once(signal, 'abort');
          },
          listPools: () => ({}),
          reportModels: () => ({}),
          listAccounts: () => ({}),
          explain: () => ({}),
        }),
      ),
      adapters: new Map([
        [ProviderFormat.MESSAGES, adapter],
        [ProviderFormat.RESPONSES, adapter],
      ]),
      usageQuery: directClient(
        serviceRoute(UsageQueryService, {
          getUsage: () => {
            fail('getUsage');
            return {};
          },
          getDayTotal: () => ({}),
          getGroupTotal: () => ({}),
          getTypicalOutput: () => ({}),
        }),
      ),
      usageSink: { record: async () => undefined },
    };
  }
}

const authorization = { authorization: `Bearer ${createTokenText('service')}` };

export function leaseOf(account: string, more: Readonly<{ model?: string; modelUnlisted?: boolean }> = {}): Acquired {
  const value = { leaseId: account, accountId: `pool/${account}`, pool: 'pool', format: ProviderFormat.MESSAGES };
  return { case: 'lease', value: { ...value, model: 'claude-sonnet', ...more } };
}

const succeeded = { attempt: { result: AttemptResult.SUCCEEDED } };
const head = { status: 200, headers: { 'content-type': 'text/event-stream' } };

/** An answer of three tokens. */
export const streamed: readonly Frame[] = [
  { sent: true, usage: { inputTokens: 5, estimated: true } },
  { head, body: Buffer.from('data: 1\n\n'), usage: { inputTokens: 7, outputTokens: 1 } },
  { body: Buffer.from('data: 2\n\n'), usage: { inputTokens: 7, outputTokens: 3 }, result: succeeded },
];
