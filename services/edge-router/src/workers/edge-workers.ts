import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { WorkerPool, type WorkerPoolOptions } from '@gateway/lifecycle/workers';
import { RecentRequestService } from '@gateway/proto/edge/v1/recent_request_service_pb.js';
import { RequestTraceService } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { type Client, type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { checkedLimit } from '../rpc/list-traces.ts';
import type { EdgeRouterService } from '../service.ts';

/** The edge as several processes that share its port. Operators and clients see no difference to one. */
export function createEdgeWorkers(
  options: Omit<WorkerPoolOptions, 'routesFor'>,
  runtime: ServiceRuntime,
): EdgeRouterService {
  let pool: WorkerPool | undefined;
  const neighboursOf = (worker: number) =>
    [...(pool?.clients(RecentRequestService) ?? [])].flatMap(([number, client]) => (number === worker ? [] : [client]));
  return {
    routes: [],
    adminRoutes: [tracesOfAll(() => [...(pool?.clients(RequestTraceService).values() ?? [])])],
    get port() {
      return pool?.port ?? 0;
    },
    async start() {
      pool = await WorkerPool.start(
        { ...options, routesFor: (worker) => [recentOfAll(() => neighboursOf(worker))] },
        runtime,
      );
    },
    notReady: async () => (pool === undefined ? 'not listening yet' : pool.notReady),
    drain: async (timeoutMs) => pool?.drain(timeoutMs),
    [Symbol.asyncDispose]: async () => pool?.[Symbol.asyncDispose](),
  };
}

/** The traces of all workers as those of one edge. */
function tracesOfAll(workers: () => readonly Client<typeof RequestTraceService>[]): ServiceRoute {
  return serviceRoute(RequestTraceService, {
    async getTrace({ requestId }) {
      const answers = await answersOf(workers(), (worker) => worker.getTrace({ requestId }));
      return answers.find(({ trace }) => trace !== undefined) ?? {};
    },
    async listTraces(request) {
      const limit = checkedLimit(request);
      const answers = await answersOf(workers(), (worker) => worker.listTraces(request));
      const receivedAtMs = ({ receivedAt }: (typeof answers)[number]['traces'][number]) =>
        receivedAt === undefined ? 0 : timestampMs(receivedAt);
      const traces = answers.flatMap((answer) => answer.traces);
      return { traces: traces.toSorted((one, other) => receivedAtMs(other) - receivedAtMs(one)).slice(0, limit) };
    },
  });
}

/** What ended at any of these workers. */
function recentOfAll(workers: () => readonly Client<typeof RecentRequestService>[]): ServiceRoute {
  return serviceRoute(RecentRequestService, {
    async listRecent({ tokenId }) {
      const answers = await answersOf(workers(), (worker) => worker.listRecent({ tokenId }));
      return { requestIds: answers.flatMap(({ requestIds }) => requestIds) };
    },
  });
}

/** Of those that answer: what a dead one knew is lost to operators, and what it owes the ledger is in its outbox. */
async function answersOf<C, A>(workers: readonly C[], ask: (worker: C) => Promise<A>): Promise<readonly A[]> {
  const answers = await Promise.allSettled(workers.map(ask));
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
}
