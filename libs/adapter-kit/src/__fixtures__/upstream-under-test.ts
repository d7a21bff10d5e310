import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { Metrics } from '@gateway/telemetry';
import { readAdapterConfig } from '../adapter-config.ts';
import { adapterMetrics } from '../metrics.ts';
import { UpstreamClient, type UpstreamLimits, type UpstreamRequest } from '../upstream/upstream-client.ts';
import type { UpstreamExchange } from '../upstream/upstream-exchange.ts';
import { UpstreamError } from '../upstream/upstream-exchange.ts';

export function createUpstream(limits: Partial<UpstreamLimits> = {}): UpstreamClient {
  const metrics = adapterMetrics(new Metrics(), ProviderFormat.MESSAGES);
  return new UpstreamClient({ ...readAdapterConfig({}), ...limits }, metrics);
}

/** A request to an origin, with the members that the test sets. */
export function requestTo(origin: string, request: Partial<UpstreamRequest> = {}): UpstreamRequest {
  const account = {
    accountId: 'pool/a',
    origin,
    host: '127.0.0.1',
    port: 0,
    basePath: '',
    secretHeader: {},
    cacheableUntilMs: 0,
    version: '',
  };
  return { account, method: 'POST', path: '/', headers: {}, body: '{}', timeoutMs: 10_000, ...request };
}

/** The result of an answer. */
export interface RecordedAnswer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** In Latin-1, up to the end or the failure. */
  readonly body: string;
  readonly error: UpstreamError | undefined;
}

export async function record(exchange: UpstreamExchange): Promise<RecordedAnswer> {
  const chunks: Buffer[] = [];
  const answer = {
    status: undefined as number | undefined,
    headers: {},
    error: undefined as UpstreamError | undefined,
  };
  try {
    Object.assign(answer, await exchange.head());
    for (let read = await exchange.read(); read !== undefined; read = await exchange.read()) chunks.push(...read);
  } catch (thrown) {
    if (!(thrown instanceof UpstreamError)) throw thrown;
    answer.error = thrown;
  }
  return { ...answer, body: Buffer.concat(chunks).toString('latin1') };
}
