import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPrometheus } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { stringify } from 'yaml';
import { z } from 'zod';
import { rulesPath } from './expressions.ts';

/**
 * A Prometheus that scrapes the admin ports of a gateway every second, with the rules of
 * deploy/observability.
 */
export interface Scraping extends AsyncDisposable {
  /** The current value of an expression. @throws Error if Prometheus refuses it. */
  query(expression: string): Promise<readonly Answer[]>;
  /** Values of a label among the series of a selector. */
  labelValues(selector: string, label: string): Promise<readonly string[]>;
  /** Trace ids of the exemplars of a histogram. */
  traceIds(selector: string): Promise<readonly string[]>;
}

export interface Answer {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ScrapeTargets {
  /** Admin ports by the names of their jobs: those of services, or `gateway`. */
  readonly adminUrls: Readonly<Record<string, string>>;
  /** The folder of the certificates, with TLS. */
  readonly certificates?: string | undefined;
}

export async function startScraping(targets: ScrapeTargets): Promise<Scraping> {
  const prometheus = await startPrometheus({
    files: {
      'prometheus.yml': stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: ['rules.yaml'],
        scrape_configs: Object.entries(targets.adminUrls).map(([job, url]) => jobOf(job, url, targets.certificates)),
      }),
      // Only the intervals are shorter for tests; the queries are unchanged.
      'rules.yaml': readFileSync(rulesPath, 'utf8').replaceAll(/^( +interval:).*$/gm, '$1 1s'),
    },
  });
  const ask = async <T>(path: string, parameters: Readonly<Record<string, string>>, data: z.ZodType<T>) => {
    const response = await fetch(`${prometheus.url}/api/v1/${path}?${new URLSearchParams(parameters)}`, {
      signal: AbortSignal.timeout(roomMs(10_000)),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${JSON.stringify(parameters)}: ${text}`);
    return z.object({ data }).parse(JSON.parse(text)).data;
  };
  return {
    async query(expression) {
      const { resultType, result } = await ask('query', { query: expression }, queryData);
      if (resultType === 'scalar') return [{ metric: {}, value: Number(scalar.parse(result)[1]) }];
      return vector.parse(result).map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    labelValues: (selector, label) => ask(`label/${label}/values`, { 'match[]': selector }, z.array(z.string())),
    async traceIds(selector) {
      const nowSeconds = Date.now() / 1_000;
      const range = { start: String(nowSeconds - 600), end: String(nowSeconds + 60) };
      const found = await ask('query_exemplars', { query: selector, ...range }, exemplars);
      return found.flatMap((series) => series.exemplars.map(({ labels }) => labels.trace_id ?? ''));
    },
    [Symbol.asyncDispose]: () => prometheus[Symbol.asyncDispose](),
  };
}

/** With a namespace, as jobs in Kubernetes have it. */
function jobOf(job: string, adminUrl: string, certificates: string | undefined) {
  const { protocol, host } = new URL(adminUrl);
  const file = (name: string) => join(certificates ?? '', name);
  return {
    job_name: job,
    scheme: protocol.replace(':', ''),
    static_configs: [{ targets: [host], labels: { namespace: 'tests' } }],
    ...(certificates !== undefined && {
      tls_config: {
        ca_file: file('ca.crt'),
        cert_file: file('prometheus.crt'),
        key_file: file('prometheus.key'),
        server_name: 'localhost',
      },
    }),
  };
}

const scalar = z.tuple([z.number(), z.string()]);
const vector = z.array(z.object({ metric: z.record(z.string(), z.string()), value: scalar }));
const queryData = z.object({ resultType: z.string(), result: z.unknown() });
const exemplars = z.array(
  z.object({ exemplars: z.array(z.object({ labels: z.record(z.string(), z.string().optional()) })) }),
);
