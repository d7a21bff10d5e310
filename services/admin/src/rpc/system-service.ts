import type { ServiceImpl } from '@connectrpc/connect';
import type { Overview, OverviewPoint, SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import type { FigureReader } from '../figures/figure-reader.ts';

/** The state of the gateway. */
export function systemService(figures: FigureReader): ServiceImpl<typeof SystemService> {
  return {
    async getOverview(_request, { signal }) {
      const { overview } = await figures.read(signal);
      return { overview };
    },
    async *watchOverview(_request, { signal }) {
      let sent: Overview | undefined;
      for await (const { overview } of figures.watch(signal)) {
        yield { overview: { ...overview, points: newPoints(overview.points, sent?.points.at(-1)) } };
        sent = overview;
      }
    },
    async listReplicas(_request, { signal }) {
      const { replicas } = await figures.read(signal);
      return { replicas: [...replicas] };
    },
  };
}

/** The points since the last one that was sent, including that one: it may have changed. */
function newPoints(points: readonly OverviewPoint[], last: OverviewPoint | undefined): OverviewPoint[] {
  return points.filter(({ atMs }) => atMs >= (last?.atMs ?? 0));
}
