import { type Attention, Severity, SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { useLive } from '../../api/live.ts';
import { Link } from '../../frame/link.tsx';
import { Page, Panel } from '../../frame/page.tsx';
import { Failure, Loading } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { joinOverview } from './overview-points.ts';
import { PoolsPanel } from './pools-panel.tsx';
import { TrafficPanels } from './traffic-panels.tsx';

/** Whether the gateway is healthy, what needs attention, and which account runs out next. */
export function OverviewPage() {
  // A message comes every two seconds: silence is a lost connection.
  const { data, connection } = useLive(SystemService.method.watchOverview, {}, joinOverview, {
    silentAfterSeconds: 15,
  });
  return (
    <Page title="Overview" about="Last 15 minutes, all edges, live">
      {data !== undefined && <AttentionPanel attention={data.attention} />}
      {connection.state === 'refused' && <Failure problem={connection.problem} />}
      {data === undefined && connection.state !== 'refused' && <Loading what="metrics" />}
      <PoolsPanel />
      {data !== undefined && <TrafficPanels points={data.points} />}
    </Page>
  );
}

/** What needs attention, the most urgent first, each with a link. */
function AttentionPanel({ attention }: { readonly attention: readonly Attention[] }) {
  return (
    <Panel title="Needs attention" aside={attention.length === 0 ? undefined : attention.length}>
      {attention.length === 0 ? (
        <p className="row">
          <Status tone="good">All clear</Status>
          <span className="faint">No account, pool or replica needs attention.</span>
        </p>
      ) : (
        <ul className="attention">
          {attention.map(({ severity, text, link }) => (
            <li key={text}>
              <Status tone={severity === Severity.CRITICAL ? 'bad' : 'warn'}>
                {severity === Severity.CRITICAL ? 'Now' : 'Soon'}
              </Status>
              <span>{link === '' ? text : <Link to={link}>{text}</Link>}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
