import { type Attention, Severity, SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { useLive } from '../../api/live.ts';
import { Link } from '../../frame/link.tsx';
import { Page, Panel } from '../../frame/page.tsx';
import { Failure, Loading } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
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

/** What needs a person, the most urgent first, each with the way there. */
function AttentionPanel({ attention }: { readonly attention: readonly Attention[] }) {
  return (
    <Panel title="Needs a person" aside={attention.length === 0 ? undefined : attention.length}>
      {attention.length === 0 ? (
        <p className="row">
          <Status tone="good">Nothing</Status>
          <span className="faint">Every account that should serve can, and every replica is ready.</span>
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
