import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIPv6 } from 'node:net';
import { text } from 'node:stream/consumers';
import type { EnvReader } from '@gateway/config';
import { identityCheck } from '@gateway/rpc/call-table';
import type { Tls } from '@gateway/rpc/grpc';
import type { ReplicaDirectory, ReplicaReading } from '../parts.ts';

/** A service and the address of its admin port: `edge-router` and `http://edge-router:9090`. A service may have several. */
export type MetricsUrls = readonly (readonly [string, string])[];

/** Reads METRICS_URLS: `<service>=<url>` with commas between them. A name stands for every replica that it resolves to. */
export function readMetricsUrls(reader: EnvReader): MetricsUrls {
  const entries = reader
    .string('METRICS_URLS', '')
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
  const urls: [string, string][] = [];
  for (const entry of entries) {
    const [, service, url] = /^([\w-]+)=(https?:\/\/[^\s/]+)\/?$/.exec(entry) ?? [];
    if (service !== undefined && url !== undefined && URL.canParse(url)) urls.push([service, url]);
    else {
      reader.problem(
        `METRICS_URLS must be services with their admin addresses, with commas between them, and "${entry}" is none. For example: METRICS_URLS=edge-router=http://edge-router:9090,limiter=http://limiter:9090`,
      );
    }
  }
  return urls;
}

/** Reads the metrics of every replica behind these addresses, as Prometheus does. With TLS it shows this process's certificate. */
export function networkReplicas(urls: MetricsUrls, tls: Tls | undefined): ReplicaDirectory & Disposable {
  const agents = [new http.Agent({ keepAlive: true }), new https.Agent({ keepAlive: true })] as const;
  return {
    async read(signal) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(readTimeoutMs)]);
      const readings = await Promise.all(urls.map(([service, url]) => readService(service, new URL(url), deadline)));
      return readings.flat();
    },
    [Symbol.dispose]() {
      for (const agent of agents) agent.destroy();
    },
  };

  async function readService(service: string, url: URL, signal: AbortSignal): Promise<readonly ReplicaReading[]> {
    try {
      const addresses = await within(signal, lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true }));
      return await Promise.all(addresses.map(({ address }) => readReplica(service, url, address, signal)));
    } catch (thrown) {
      return [{ service, address: url.host, metrics: undefined, problem: problemOf(thrown) }];
    }
  }

  async function readReplica(service: string, url: URL, host: string, signal: AbortSignal): Promise<ReplicaReading> {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
    try {
      const get = (path: string) => ask(service, url, { host, port, path, signal });
      const [ready, metrics] = await Promise.all([get('/readyz'), get('/metrics')]);
      if (metrics.status !== 200) throw new Error(metrics.text.trim());
      return { service, address, metrics: metrics.text, problem: ready.status === 200 ? undefined : ready.text.trim() };
    } catch (thrown) {
      return { service, address, metrics: undefined, problem: problemOf(thrown) };
    }
  }

  async function ask(service: string, { protocol }: URL, options: http.RequestOptions) {
    const [clear, encrypted] = agents;
    const request =
      protocol === 'https:'
        ? https.get({
            ...options,
            ...tls?.certificates,
            agent: encrypted,
            // The name that is asked for in TLS, where an address may not stand.
            servername: service,
            checkServerIdentity: identityCheck(service),
          })
        : http.get({ ...options, agent: clear });
    const [response]: readonly IncomingMessage[] = await once(request, 'response');
    return { status: response?.statusCode, text: response === undefined ? '' : await text(response) };
  }
}

/** Where all is one process: what it says of itself. */
export function ownReplica(own: {
  readonly service: string;
  readonly address: string;
  readonly metrics: { exposition(): Promise<string> };
  readonly notReady: () => Promise<string | undefined>;
}): ReplicaDirectory {
  return {
    async read() {
      const [metrics, problem] = await Promise.all([own.metrics.exposition(), own.notReady()]);
      return [{ service: own.service, address: own.address, metrics, problem }];
    },
  };
}

/** A replica that takes longer is listed as one that does not answer. */
const readTimeoutMs = 2_000;

async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const ended = Promise.withResolvers<never>();
  signal.throwIfAborted();
  const onAbort = () => ended.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  return Promise.race([work, ended.promise]).finally(() => signal.removeEventListener('abort', onAbort));
}

function problemOf(thrown: unknown): string {
  if (thrown instanceof Error && (thrown.name === 'TimeoutError' || thrown.name === 'AbortError'))
    return `did not answer within ${readTimeoutMs / 1_000} s`;
  return `can not be asked: ${thrown instanceof Error ? thrown.message : thrown}`;
}
