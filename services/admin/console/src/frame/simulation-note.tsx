import { useQuery } from '@connectrpc/connect-query';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { Status } from '../ui/status.tsx';

/** The names of the pools whose provider is simulated. */
export function useSimulatedPools(): readonly string[] {
  const { data } = useQuery(PoolService.method.listPools, {}, { staleTime: 60_000 });
  return (data?.overview?.pools ?? []).flatMap(({ pool }) => (pool?.simulated ? [pool.name] : []));
}

/** Says on every page that a simulator answers, so that no one takes its answers for real ones. */
export function SimulationNote() {
  const { data } = useQuery(PoolService.method.listPools, {}, { staleTime: 60_000 });
  const pools = data?.overview?.pools ?? [];
  const simulated = pools.filter(({ pool }) => pool?.simulated).map(({ pool }) => pool?.name);
  if (simulated.length === 0) return null;
  return (
    <span role="status">
      <Status tone="warn">
        {simulated.length === pools.length ? 'Simulated providers' : `Simulated: ${simulated.join(', ')}`}
      </Status>
    </span>
  );
}
