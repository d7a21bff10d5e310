import { useQuery } from '@connectrpc/connect-query';
import { figureText, formatBytes, formatCountOf, formatPercent } from '@gateway/presentation';
import { type Replica, SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { Page, Panel } from '../../frame/page.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { AlertsPanel } from './alerts-panel.tsx';

/** Every process of the gateway, with its own figures. */
export function SystemPage() {
  const replicas = useQuery(SystemService.method.listReplicas, {}, { refetchInterval: 5_000 });
  return (
    <Page title="System" about="Every process of the gateway. Refreshes every 5 s.">
      <Answer of={replicas} what="replicas">
        {({ replicas }) => (
          <>
            <Summary replicas={replicas} />
            <Panel title="Replicas">
              <Table
                caption="Replicas"
                columns={columns}
                rows={replicas}
                keyOf={({ service, address }) => `${service} ${address}`}
              />
            </Panel>
            <AlertsPanel />
          </>
        )}
      </Answer>
    </Page>
  );
}

function Summary({ replicas }: { readonly replicas: readonly Replica[] }) {
  if (replicas.length === 0)
    return <Empty title="No replicas found">Check the service addresses in the admin service's settings.</Empty>;
  const ready = replicas.filter((replica) => replica.ready).length;
  const versions = [...new Set(replicas.map(({ version }) => version).filter((version) => version !== ''))].toSorted();
  return (
    <div className="row">
      <Status tone={ready === replicas.length ? 'good' : 'bad'}>
        {ready} of {replicas.length} ready
      </Status>
      {versions.length > 0 && (
        <Status tone={versions.length === 1 ? 'neutral' : 'warn'}>
          {formatCountOf(versions.length, 'version')}: {versions.join(', ')}
        </Status>
      )}
    </div>
  );
}

const columns: readonly Column<Replica>[] = [
  { label: 'Service', names: true, render: ({ service }) => service },
  { label: 'Address', render: ({ address }) => <code>{address}</code> },
  { label: 'State', render: (replica) => <State replica={replica} /> },
  { label: 'Version', render: ({ version }) => version || <span className="faint">Unknown</span> },
  {
    label: 'Started',
    render: ({ startedAtMs }) =>
      startedAtMs === undefined ? <span className="faint">Unknown</span> : <Ago at={startedAtMs} />,
  },
  {
    label: 'CPU',
    align: 'end',
    render: ({ cpuShare, version }) => (version === '' ? '–' : formatPercent(cpuShare)),
  },
  {
    label: 'Memory',
    align: 'end',
    render: ({ residentBytes }) => (residentBytes === 0 ? '–' : formatBytes(residentBytes)),
  },
  { label: 'Details', render: ({ figures }) => <Figures figures={figures} /> },
];

function State({ replica: { ready, problem } }: { readonly replica: Replica }) {
  if (ready) return <Status tone="good">Ready</Status>;
  return (
    <span className="row">
      <Status tone="bad">Not ready</Status>
      {problem}
    </span>
  );
}

/** Names of figures are those of metrics: "outbox_waiting_events". */
function Figures({ figures }: { readonly figures: Readonly<Record<string, number>> }) {
  const entries = Object.entries(figures).toSorted(([one], [other]) => one.localeCompare(other));
  if (entries.length === 0) return <span className="faint">–</span>;
  return (
    <ul className="figures">
      {entries
        .map(([name, value]) => figureText(name, value))
        .map(({ name, text }) => (
          <li key={name}>
            {name} <b>{text}</b>
          </li>
        ))}
    </ul>
  );
}
