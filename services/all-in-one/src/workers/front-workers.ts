import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EdgeRouterService } from '@gateway/edge-router/service';
import { createEdgeWorkers } from '@gateway/edge-router/workers/edge-workers';
import type { ServiceRuntime } from '@gateway/lifecycle';
import type { ServiceRoute } from '@gateway/rpc';
import { GrpcServer } from '@gateway/rpc/grpc';

/**
 * The front in `count` processes of their own. They reach the services of this process over a socket in a folder that only
 * the gateway's own user may enter: provider credentials pass over it.
 */
export async function createFrontWorkers(
  count: number,
  routes: readonly ServiceRoute[],
  runtime: ServiceRuntime,
): Promise<EdgeRouterService> {
  await using stack = new AsyncDisposableStack();
  // mkdtemp makes folders that nobody else may enter.
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const address = `unix:${join(folder, 'primary')}`;
  const server = await GrpcServer.listen({
    host: address,
    port: 0,
    routes,
    onFault: (method, fault) => runtime.logger.error({ method, err: fault }, 'a call failed by a fault of ours'),
  });
  stack.defer(() => server.stop(0));
  const program = fileURLToPath(new URL('./main.ts', import.meta.url));
  const edge = stack.use(createEdgeWorkers({ program, args: [address], count }, runtime));
  const open = stack.move();
  return {
    ...edge,
    get port() {
      return edge.port;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
