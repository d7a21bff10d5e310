import { useQuery } from '@connectrpc/connect-query';
import { type Alert, AlertService, AlertState } from '@gateway/proto/admin/v1/alert_service_pb.js';
import { Panel } from '../../frame/page.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status, type Tone } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';

/** The last warnings to receivers, with what these answered. */
export function AlertsPanel() {
  const alerts = useQuery(AlertService.method.listAlerts, { last: 10 }, { refetchInterval: 10_000 });
  return (
    <Panel title="Warnings to receivers">
      <Answer of={alerts} what="warnings">
        {({ alerts }) => (
          <Table
            caption="Warnings to receivers"
            columns={columns}
            rows={alerts}
            keyOf={({ alertId }) => alertId}
            empty={<Empty title="No warnings">Receivers are listed in gateway.yaml.</Empty>}
          />
        )}
      </Answer>
    </Panel>
  );
}

const columns: readonly Column<Alert>[] = [
  { label: 'When', render: ({ atMs }) => <Ago at={atMs} /> },
  { label: 'Warning', names: true, render: ({ text }) => text },
  { label: 'Receiver', render: ({ receiver }) => receiver },
  {
    label: 'State',
    render: ({ state }) => {
      const [tone, word] = states[state];
      return <Status tone={tone}>{word}</Status>;
    },
  },
  { label: 'Answer', render: ({ answer }) => answer || '–' },
  { label: 'Attempts', align: 'end', render: ({ attempts }) => attempts },
];

const states: Readonly<Record<AlertState, readonly [Tone, string]>> = {
  [AlertState.UNSPECIFIED]: ['neutral', 'Unknown'],
  [AlertState.WAITING]: ['warn', 'Waiting'],
  [AlertState.SENT]: ['good', 'Sent'],
  [AlertState.FAILED]: ['bad', 'Failed'],
};
