import { startNginxProcess } from './nginx-process.ts';
import { anyTokens, type System } from './system.ts';

/** A bare reverse proxy that inspects nothing: the lowest cost of one hop. */
export async function startNginx(providerPort: number): Promise<System> {
  const nginx = await startNginxProcess({ http: (port) => proxyTo(providerPort, port), stopSignal: 'SIGQUIT' });
  return {
    name: 'nginx',
    port: nginx.port,
    processes: [{ name: 'nginx', pid: nginx.pid, part: 'gateway' }],
    tokens: anyTokens,
    inspectorPorts: new Map(),
    serves: () => true,
    headersFor: () => ({}),
    [Symbol.asyncDispose]: () => nginx[Symbol.asyncDispose](),
  };
}

/** Kept-alive connections to the provider; every piece of an answer is forwarded as it comes. */
function proxyTo(providerPort: number, port: number): string {
  return `  keepalive_requests 100000000;
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
  }`;
}
