import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIPv6 } from 'node:net';
import { text } from 'node:stream/consumers';
import { settingsPath } from '@gateway/config';
import { identityCheck } from '@gateway/rpc/call-table';
import type { Tls } from '@gateway/rpc/grpc';
import { epochMs, timeoutSignal } from '@gateway/time';
import { z } from 'zod';
import type { ReplicaDirectory } from '../parts.ts';
import { orAborted } from '../peer-calls.ts';

/**
 * A service and the address of its admin port: `edge-router` and `http://edge-router:9090`. A
 * service may have several.
 */
export type MetricsUrls = readonly (readonly [string, string])[];

/**
 * Reads every replica behind these addresses, as Prometheus does. With TLS it presents this
 * process's certificate.
 */
export function networkReplicas(urls: MetricsUrls, tls: Tls | undefined): ReplicaDirectory & Disposable {
  const agents = [new http.Agent({ keepAlive: true }), new https.Agent({ keepAlive: true })] as const;
  // This process knows its own settings.
  const others = urls.filter(([service]) => service !== 'admin');
  return {
    read: async (signal) => {
      const readings = await askAll(urls, signal, readReplica);
      return readings.map((each) => ({ metrics: undefined, ...each }));
    },
    settings: async (signal) => {
      const readings = await askAll(others, signal, readSettings);
      return readings.map((each) => ({ settings: undefined, ...each }));
    },
    [Symbol.dispose]() {
      for (const agent of agents) agent.destroy();
    },
  };

  /** Reads all replicas at once. If one can't be read, only that one has a problem. */
  async function askAll<T extends object>(wanted: MetricsUrls, signal: AbortSignal, read: (ask: Ask) => Promise<T>) {
    const deadline = AbortSignal.any([signal, timeoutSignal(readTimeoutMs)]);
    const askOne = async (service: string, url: URL, host: string) => {
      const port = url.port || (url.protocol === 'https:' ? '443' : '80');
      const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
      const ask: Ask = (method, path) => send(service, url, { host, port, method, path, signal: deadline });
      return await read(ask).then(
        (answer) => ({ service, address, problem: undefined, ...answer }),
        (thrown: unknown) => ({ service, address, problem: problemOf(thrown) }),
      );
    };
    const ofServices = wanted.map(async ([service, text]) => {
      const url = new URL(text);
      try {
        const found = await orAborted(lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true }), deadline);
        return await Promise.all(found.map(({ address }) => askOne(service, url, address)));
      } catch (thrown) {
        return [{ service, address: url.host, problem: problemOf(thrown) }];
      }
    });
    return (await Promise.all(ofServices)).flat();
  }

  async function send(service: string, { protocol }: URL, options: http.RequestOptions) {
    const [clear, encrypted] = agents;
    const request =
      protocol === 'https:'
        ? https.request({
            ...options,
            ...tls?.certificates,
            agent: encrypted,
            // The server name for TLS, which must not be an address.
            servername: service,
            checkServerIdentity: identityCheck(service),
          })
        : http.request({ ...options, agent: clear });
    request.end();
    const [response]: readonly IncomingMessage[] = await once(request, 'response');
    return { status: response?.statusCode, text: response === undefined ? '' : await text(response) };
  }
}

type Ask = (method: string, path: string) => Promise<{ readonly status: number | undefined; readonly text: string }>;

async function readReplica(ask: Ask) {
  const fromMs = epochMs();
  const metricsAsked = ask('GET', '/metrics').then((metrics) => ({ metrics, asked: { fromMs, toMs: epochMs() } }));
  const [ready, { metrics, asked }] = await Promise.all([ask('GET', '/readyz'), metricsAsked]);
  if (metrics.status !== 200) throw new Error(metrics.text.trim());
  return { metrics: metrics.text, asked, problem: ready.status === 200 ? undefined : ready.text.trim() };
}

async function readSettings(ask: Ask) {
  const { status, text } = await ask('POST', settingsPath);
  if (status === 404) throw new Error('its version does not report its settings');
  if (status !== 200) throw new Error(text.trim());
  return { settings: settingList.parse(JSON.parse(text)) };
}

const settingList = z.array(
  z.object({ name: z.string(), value: z.string(), origin: z.enum(['environment', 'file', 'default']) }),
);

/** If the gateway is one process: that process. */
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
    settings: async () => [],
  };
}

/** A replica that takes longer is listed as not answering. */
const readTimeoutMs = 2_000;

function problemOf(thrown: unknown): string {
  if (thrown instanceof Error && (thrown.name === 'TimeoutError' || thrown.name === 'AbortError'))
    return `did not answer within ${readTimeoutMs / 1_000} s`;
  return `cannot be queried: ${thrown instanceof Error ? thrown.message : thrown}`;
}
