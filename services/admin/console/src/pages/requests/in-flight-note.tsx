import { formatCountOf } from '@gateway/presentation';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { useLive } from '../../api/live.ts';

/** Where people look for a running request: how many run, and that each is listed when it ends. */
export function InFlightNote() {
  const { data = 0 } = useLive(PoolService.method.watchPools, {}, ({ overview }) =>
    (overview?.pools ?? []).flatMap(({ accounts }) => accounts).reduce((sum, { inFlight }) => sum + inFlight, 0),
  );
  if (data === 0) return null;
  return <p className="live-note">{formatCountOf(data, 'request')} in flight. The log has requests when they end.</p>;
}
