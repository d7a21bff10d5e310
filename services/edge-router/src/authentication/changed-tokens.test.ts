import { randomUUID } from 'node:crypto';
import { mkdtemp, mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { IdentityService, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { GrpcServer } from '@gateway/rpc/grpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { createTokenText } from '@gateway/tokens';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEdgeRouterFromEnvironment, type EdgeRouterService } from '../service.ts';

const token = create(TokenSchema, { tokenId: randomUUID(), kind: TokenKind.PERSONAL, label: 'laptop' });
const text = createTokenText('personal');

describe('an edge whose token changes while identity is asked for it', () => {
  let stack: AsyncDisposableStack;
  let identity: SlowIdentity;
  let usageUrl: string;
  let edge: EdgeRouterService;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    identity = new SlowIdentity();
    const routes = [
      serviceRoute(UsageQueryService, {
        getUsage: () => ({}),
        getDayTotal: () => ({}),
        getGroupTotal: () => ({}),
        getTypicalOutput: () => ({}),
      }),
      serviceRoute(IdentityService, {
        resolve: () => identity.resolve(),
        watchChanges: (_request, { signal }) => identity.watchChanges(signal),
        issue: () => ({}),
        revoke: () => ({}),
        update: () => ({}),
        rotate: () => ({}),
        list: () => ({}),
      }),
    ];
    const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes });
    stack.defer(() => server.stop(1_000));
    const folder = await mkdtemp(join(tmpdir(), 'edge-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const url = `http://127.0.0.1:${server.port}`;
    edge = stack.use(await createEdgeRouterFromEnvironment(environment(url, folder), runtime));
    expect(await edge.notReady()).toBe('not listening yet');
    await edge.start();
    usageUrl = `http://127.0.0.1:${edge.port}/v1/usage`;
    await expect.poll(() => identity.watchers).toBe(1);
  });
  afterEach(async () => {
    identity.end();
    await stack.disposeAsync();
  });

  const status = async () => (await fetch(usageUrl, { headers: { authorization: `Bearer ${text}` } })).status;
  const changesArrived = () => identity.changesArrive();

  it('stays ready when it loses identity', async () => {
    await expect.poll(() => edge.notReady()).toBeUndefined();
    identity.breakWatch();
    await expect.poll(() => identity.watchers).toBe(2);
    expect(await edge.notReady()).toBeUndefined();
  });

  it('refuses it from then on when it was revoked', async () => {
    const first = status();
    await identity.asked(1);
    identity.change([token.tokenId]);
    await changesArrived();
    identity.answer({ token });
    identity.answer({});
    await first;
    await expect.poll(status).toBe(401);
  });

  it('refuses it from then on when the change was missed, because the watch of changes had broken', async () => {
    const first = status();
    await identity.asked(1);
    identity.breakWatch();
    await expect.poll(() => identity.watchers).toBe(2);
    await changesArrived();
    identity.answer({ token });
    identity.answer({});
    await first;
    await expect.poll(status).toBe(401);
  });
});

it('an edge that has not reached identity since its start is not ready', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'edge-'));
  await using edge = await createEdgeRouterFromEnvironment(environment('http://127.0.0.1:1', folder.path), runtime);
  await edge.start();
  expect(await edge.notReady()).toBe('identity has not been reached yet');
});

/** Identity with answers that the test gives. */
class SlowIdentity {
  watchers = 0;
  readonly #answers: MessageInitShape<typeof IdentityService.method.resolve.output>[] = [];
  #asked = 0;
  #given = 0;
  #watch = Promise.withResolvers<'broken' | readonly string[]>();
  readonly #waiting: (() => void)[] = [];

  async resolve() {
    const index = this.#asked++;
    while (this.#given <= index) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#answers[index] ?? {};
  }

  async *watchChanges(signal: AbortSignal) {
    this.watchers++;
    const ended = new Promise<'broken'>((resolve) => signal.addEventListener('abort', () => resolve('broken')));
    yield { tokenIds: [] };
    while (!signal.aborted) {
      const next = await Promise.race([this.#watch.promise, ended]);
      this.#watch = Promise.withResolvers();
      if (next === 'broken') return;
      yield { tokenIds: [...next] };
    }
  }

  /** Resolves when the edge has asked for the token this many times. */
  asked(times: number) {
    return expect.poll(() => this.#asked).toBe(times);
  }

  change(tokenIds: readonly string[]) {
    this.#watch.resolve(tokenIds);
  }

  breakWatch() {
    this.#watch.resolve('broken');
  }

  /** By then earlier messages have usually reached the edge. Only time can show it. */
  changesArrive() {
    return new Promise((resolve) => setTimeout(resolve, 200));
  }

  /** The answer to the oldest open question. */
  answer(given: MessageInitShape<typeof IdentityService.method.resolve.output>) {
    this.#answers.push(given);
    this.#given++;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  end() {
    for (let n = 0; n < 10; n++) this.answer({});
    this.breakWatch();
  }
}

const runtime = { logger: createLogger('edge-router', 'silent'), metrics: new Metrics() };

/** All services at one address. Nothing listens on port 1. */
function environment(url: string, folder: string) {
  const names = ['IDENTITY', 'LIMITER', 'POOL_BROKER', 'RESPONSES_ADAPTER', 'MESSAGES_ADAPTER', 'USAGE_QUERY'];
  return {
    ...Object.fromEntries(names.map((name) => [`${name}_URL`, url])),
    PORT: '0',
    GATEWAY_DATA: folder,
    NATS_URL: 'nats://127.0.0.1:1',
    ADMISSION_PATIENCE_SECONDS: '20',
  };
}
