import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@gateway/testkit';
import { OwnProcess } from '../processes/own-process.ts';
import { untilConnectable } from '../processes/until-connectable.ts';
import { findNginx } from './nginx-program.ts';

export interface NginxOptions {
  /** The content of the block `http`, for the port on which it listens. */
  readonly http: (port: number) => string;
  /** SIGQUIT lets connections end, SIGTERM does not. */
  readonly stopSignal: 'SIGQUIT' | 'SIGTERM';
}

/** An nginx of our own with one worker, in a folder of its own. Disposing ends it. */
export interface NginxProcess extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

/** @throws Error if nginx is not available. */
export async function startNginxProcess({ http, stopSignal }: NginxOptions): Promise<NginxProcess> {
  await using stack = new AsyncDisposableStack();
  const program = await findNginx();
  const folder = await mkdtemp(join(tmpdir(), 'own-nginx-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  const configuration = join(folder, 'nginx.conf');
  await writeFile(configuration, configurationOf(folder, http(port)));
  const arguments_ = ['-p', folder, '-c', configuration, '-e', join(folder, 'error.log')];
  const started = stack.use(await OwnProcess.start(program, arguments_, { stopSignal }));
  await untilConnectable('nginx', port, started);
  const running = stack.move();
  return { pid: started.pid, port, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function configurationOf(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path ${folder}/${kind};`,
  );
  return `daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 8192; }
http {
${temporary.join('\n')}
  access_log off;
${http}
}
`;
}
