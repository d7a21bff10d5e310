import { SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { useLive } from '../../api/live.ts';
import { Page } from '../../frame/page.tsx';
import { Failure, Loading } from '../../ui/state.tsx';
import { AttentionPanel } from './attention-panel.tsx';
import { joinOverview } from './overview-points.ts';
import { PoolsPanel } from './pools-panel.tsx';
import { TrafficPanels } from './traffic-panels.tsx';

/** Is it healthy, what needs a person, and which account runs out next. */
export function OverviewPage() {
  // It comes every two seconds: silence is a lost connection.
  const { data, connection } = useLive(SystemService.method.watchOverview, {}, joinOverview, {
    silentAfterSeconds: 15,
  });
  return (
    <Page title="Overview" about="The last fifteen minutes of all edges together, as they happen.">
      {data !== undefined && <AttentionPanel attention={data.attention} />}
      {connection.state === 'refused' && <Failure problem={connection.problem} />}
      {data === undefined && connection.state !== 'refused' && <Loading what="the figures" />}
      <PoolsPanel />
      {data !== undefined && <TrafficPanels points={data.points} />}
    </Page>
  );
}
