import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EdgeRouterService } from '@gateway/edge-router/service';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { createWorkerPool } from '@gateway/lifecycle/worker-pool';
import type { ServiceRoute } from '@gateway/rpc';
import { GrpcServer } from '@gateway/rpc/grpc';

/**
 * The front in several processes of their own. They reach the services of this process over a socket in a folder that only
 * the gateway's own user may enter: provider credentials pass over it.
 */
export async function createFrontWorkers(
  listen: { readonly count: number; readonly host: string; readonly port: number },
  routes: readonly ServiceRoute[],
  runtime: ServiceRuntime,
): Promise<EdgeRouterService> {
  await using stack = new AsyncDisposableStack();
  // mkdtemp makes folders for this user alone.
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const address = `unix:${join(folder, 'primary')}`;
  const onFault = (method: string, fault: unknown) =>
    runtime.logger.error({ method, err: fault }, 'a call failed by a fault of ours');
  const server = await GrpcServer.listen({ host: address, port: 0, routes, onFault });
  stack.defer(() => server.stop(0));
  const program = join(import.meta.dirname, 'main.ts');
  const edge = stack.use(createWorkerPool({ program, args: [address], ...listen }, runtime));
  const open = stack.move();
  return {
    ...edge,
    get port() {
      return edge.port;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
