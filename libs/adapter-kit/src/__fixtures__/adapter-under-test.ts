import { create } from '@bufbuild/protobuf';
import { AdapterService, Dialect, type ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CredentialService,
  type GetCredentialRequest,
  type GetCredentialResponse,
  GetCredentialResponseSchema,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type CallOptions, type Client, directClient, directClientOf, serviceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { type AdapterConfig, readAdapterConfig } from '../adapter-config.ts';
import { type AdapterContext, createAdapterContext } from '../adapter-context.ts';
import { adapterRoutes } from '../adapter-service.ts';
import type { FormatDefinition } from '../format-definition.ts';
import { fakeFormat } from './fake-format.ts';
import { type FakeProvider, startFakeProvider } from './fake-provider.ts';

export interface AdapterUnderTest extends AsyncDisposable {
  readonly context: AdapterContext;
  readonly client: Client<typeof AdapterService>;
  readonly provider: FakeProvider;
  readonly metrics: Metrics;
  /** The requests that the pool-broker received. */
  readonly asked: GetCredentialRequest['target'][];
  /** The pool-broker's answer; tests may replace it. */
  credential: (target: GetCredentialRequest['target']) => Promise<GetCredentialResponse>;
}

export async function startAdapter(
  settings: Partial<AdapterConfig> = {},
  format: FormatDefinition = fakeFormat,
): Promise<AdapterUnderTest> {
  const provider = await startFakeProvider();
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const credentials = directClient(
    serviceRoute(CredentialService, {
      getCredential: ({ target }) => {
        adapter.asked.push(target);
        return adapter.credential(target);
      },
    }),
  );
  const config = { ...readAdapterConfig({}), ...settings };
  const context = createAdapterContext({ format, config, credentials, runtime });
  const adapter: AdapterUnderTest = {
    context,
    client: directClientOf(adapterRoutes(context), AdapterService),
    provider,
    metrics: runtime.metrics,
    asked: [],
    credential: async () => bearer(`${provider.url}/base`, 'secret-1'),
    async [Symbol.asyncDispose]() {
      await context[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
  return adapter;
}

/** @param version empty for a secret that is never replaced. */
export function bearer(baseUrl: string, value: string, version = ''): GetCredentialResponse {
  return create(GetCredentialResponseSchema, {
    accountId: 'pool/a',
    baseUrl,
    secret: { case: 'bearer', value },
    version,
    cacheableForMs: 60_000,
  });
}

export interface Sending extends CallOptions {
  readonly body?: object;
  readonly dialect?: Dialect;
  readonly forwardHeaders?: Record<string, string>;
  readonly lease?: { readonly model: string; readonly modelUnlisted?: boolean };
}

/**
 * Sends one request and yields the adapter's frames as they arrive, except the one that confirms
 * the sending.
 */
export async function* send(adapter: AdapterUnderTest, sending: Sending = {}): AsyncGenerator<ExecuteResponse> {
  for await (const frame of sendForAllFrames(adapter, sending)) if (!frame.sent) yield frame;
}

/** Sends one request and yields all frames as they arrive. */
export function sendForAllFrames({ client }: AdapterUnderTest, sending: Sending = {}): AsyncIterable<ExecuteResponse> {
  const { body: _, dialect: __, forwardHeaders: ___, lease: ____, ...options } = sending;
  return client.execute(streamOf(framesOf(sending)), options);
}

function framesOf({ body = { stream: true }, dialect = Dialect.CHAT_COMPLETIONS, ...sending }: Sending) {
  const { forwardHeaders = {}, lease: asked } = sending;
  const bytes = Buffer.from(JSON.stringify(body));
  const lease = { leaseId: 'l', accountId: 'pool/a', pool: 'pool', model: 'model-x', ...asked };
  return [
    { head: { requestId: 'r1', lease, dialect, forwardHeaders } },
    { body: bytes.subarray(0, 3) },
    { body: bytes.subarray(3) },
  ];
}

export async function* streamOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** A frame in a form that is convenient for tests. */
export interface ReadableFrame {
  readonly status?: number;
  readonly body?: string;
  readonly usage?: string;
  readonly result?: string;
  readonly error?: string;
}

export function readable({ head, body, usage, result: ended }: ExecuteResponse): ReadableFrame {
  const result = ended?.attempt?.result;
  const { error } = ended ?? {};
  return {
    ...(head === undefined ? {} : { status: head.status }),
    ...(body.length === 0 ? {} : { body: Buffer.from(body).toString() }),
    ...(usage === undefined
      ? {}
      : { usage: `${usage.inputTokens} in, ${usage.outputTokens} out${usage.estimated ? ', estimated' : ''}` }),
    ...(result === undefined ? {} : { result: AttemptResult[result] }),
    ...(error === undefined ? {} : { error: error.code }),
  };
}
