import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { roomMs } from '../room/room.ts';
import { findPrograms } from './find-programs.ts';
import { startServerProcess, type TestServer } from './run-server.ts';
import type { ServerOptions } from './servers.ts';

/** Prometheus with promtool, installed or from Debian's package. */
export const prometheusPrograms = {
  name: 'prometheus',
  programs: ['prometheus', 'promtool'],
  packages: ['prometheus'],
} as const;

export interface PrometheusOptions extends ServerOptions {
  /** Its configuration, `prometheus.yml`, and the files that it names, by relative paths. */
  readonly files: Readonly<Record<string, string>> & { readonly 'prometheus.yml': string };
}

/** Starts a Prometheus that stores exemplars. Its data is removed with it. */
export function startPrometheus({ files, port }: PrometheusOptions): Promise<TestServer> {
  return startServerProcess(
    {
      ...prometheusPrograms,
      stopSignal: 'SIGTERM',
      async prepare(_programs, dataDir) {
        for (const [name, content] of Object.entries(files)) {
          await mkdir(dirname(join(dataDir, name)), { recursive: true });
          await writeFile(join(dataDir, name), content);
        }
      },
      parameters: (own, dataDir) => [
        `--config.file=${join(dataDir, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(dataDir, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${own}`,
        '--enable-feature=exemplar-storage',
        '--log.level=warn',
      ],
      url: (host, own) => `http://${host}:${own}`,
      async ping(host, own) {
        const answer = await fetch(`http://${host}:${own}/-/ready`, { signal: AbortSignal.timeout(roomMs(5_000)) });
        if (!answer.ok) throw new Error(`it says ${answer.status}`);
      },
    },
    port,
  );
}

/** Runs promtool to completion. @throws Error with its output when it reports a problem. */
export async function promtool(parameters: readonly string[], input = ''): Promise<string> {
  const { folder } = await findPrograms(prometheusPrograms);
  // The process is short-lived: less frequent garbage collection costs some memory and saves a
  // quarter of the processor time.
  const env = { ...process.env, GOGC: '400' };
  const child = spawn(join(folder, 'promtool'), parameters, { env, stdio: 'pipe', timeout: roomMs(240_000) });
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(`promtool ${parameters.join(' ')}:\n${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}
