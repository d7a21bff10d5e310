import { once } from 'node:events';
import { createServer } from 'node:http';
import { inSpan, SpanKind } from '@gateway/telemetry';
import { runWorker, sharedPortOptions } from '../run-worker.ts';

/**
 * A worker that answers with its process id, and with `leaving` after its drain is announced. With
 * the argument `broken` it can't start.
 */
await runWorker({ name: 'test', logLevel: 'silent', drainTimeoutMs: 1_000 }, async ({ metrics }) => {
  let isLeaving = false;
  const server = createServer((_request, response) =>
    inSpan('GET', { kind: SpanKind.SERVER }, async () => {
      response.setHeader('leaving', String(isLeaving)).end(String(process.pid));
    }),
  );
  metrics.gauge({ name: 'pid', help: 'Process id.' }).set(process.pid);
  return {
    routes: [],
    async start() {
      if (process.argv.includes('broken')) throw new Error('the disk is full');
      server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', ...sharedPortOptions() });
      await once(server, 'listening');
    },
    notReady: async () => undefined,
    announceDrain() {
      isLeaving = true;
    },
    drain: async () => server.closeAllConnections(),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
});
