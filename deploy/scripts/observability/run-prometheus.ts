import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPrograms, ManagedProcess, prometheusPrograms } from '@gateway/testkit';
import { type ScrapeJob, scrapeConfig } from './scrape-configs.ts';

export interface PrometheusOptions {
  readonly port: number;
  /** The folder of its configuration and its data. */
  readonly folder: string;
  readonly jobs: readonly ScrapeJob[];
  readonly intervalSeconds: number;
  readonly onUnexpectedEnd: (how: string) => void;
}

/**
 * A Prometheus on this machine with the rules of deploy/observability. `stack` stops it. Returns
 * its address.
 */
export async function runPrometheus(options: PrometheusOptions, stack: AsyncDisposableStack): Promise<string> {
  const { folder: programs, libraryFolders } = await findPrograms(prometheusPrograms);
  const { port, folder, jobs, intervalSeconds, onUnexpectedEnd } = options;
  const configFile = join(folder, 'prometheus.yaml');
  await writeFile(configFile, scrapeConfig(jobs, rulesFile, intervalSeconds));
  const url = `http://127.0.0.1:${port}`;
  // Debian's package looks for its web pages in its place of installation.
  const pages = join(programs, '../share/prometheus/web');
  const prometheus = stack.use(
    new ManagedProcess({
      name: 'Prometheus',
      command: join(programs, 'prometheus'),
      parameters: [
        `--config.file=${configFile}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--enable-feature=exemplar-storage',
        '--log.level=warn',
        ...(existsSync(pages) ? [`--web.local-assets=${pages}`] : []),
      ],
      env: { PATH: process.env.PATH, LD_LIBRARY_PATH: libraryFolders.join(':') },
      cwd: folder,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 10_000,
      ping: () => untilReady(url),
      onUnexpectedEnd,
    }),
  );
  await prometheus.restart();
  return url;
}

const rulesFile = join(import.meta.dirname, '../../observability/prometheus/rules.yaml');

async function untilReady(url: string): Promise<void> {
  const answer = await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(2_000) });
  if (!answer.ok) throw new Error(`Prometheus is not ready: HTTP ${answer.status}`);
}
