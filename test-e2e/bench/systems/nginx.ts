import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@gateway/testkit';
import { OwnProcess } from '../processes/own-process.ts';
import { untilConnectable } from '../processes/until-connectable.ts';
import { findNginx } from './nginx-program.ts';
import { anyTokens, type System } from './system.ts';

/** A bare reverse proxy that looks at nothing: the least that one hop can cost. */
export async function startNginx(providerPort: number): Promise<System> {
  await using stack = new AsyncDisposableStack();
  const program = await findNginx();
  const folder = await mkdtemp(join(tmpdir(), 'bench-nginx-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  const configuration = join(folder, 'nginx.conf');
  await writeFile(configuration, configurationOf(folder, port, providerPort));
  const started = stack.use(
    await OwnProcess.start(program, ['-p', folder, '-c', configuration, '-e', join(folder, 'error.log')], {
      stopSignal: 'SIGQUIT',
    }),
  );
  await untilConnectable('nginx', port, started);
  const running = stack.move();
  return {
    name: 'nginx',
    port,
    processes: [{ name: 'nginx', pid: started.pid, part: 'gateway' }],
    tokens: anyTokens,
    inspectorPorts: new Map(),
    serves: () => true,
    headersFor: () => ({}),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** One worker, kept-alive connections to the provider, every piece of an answer passed on as it comes, no log. */
function configurationOf(folder: string, port: number, providerPort: number): string {
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
  keepalive_requests 100000000;
  upstream provider { server 127.0.0.1:${providerPort}; keepalive 2048; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    client_max_body_size 80m;
    client_body_buffer_size 2m;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}
