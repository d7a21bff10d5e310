import { formatCount, usedUpText } from '@gateway/presentation';
import { PoolService, type PoolStatus } from '@gateway/proto/admin/v1/pool_service_pb.js';
import type { Account } from '@gateway/proto/pool/v1/account_pb.js';
import { type QuotaForecast, QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { useLive } from '../../api/live.ts';
import { Link } from '../../frame/link.tsx';
import { Panel } from '../../frame/page.tsx';
import { Empty, Failure, Loading } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Countdown, Time, useNowMs } from '../../ui/time.tsx';
import { standCounts } from '../pools/account-words.ts';
import { PauseLine } from '../pools/pause-line.tsx';

/** Every pool in a line: its accounts by state, its requests in flight, and when it runs out. */
export function PoolsPanel() {
  const { data, connection } = useLive(PoolService.method.watchPools, {}, ({ overview }) => overview?.pools ?? []);
  const none = <Empty title="No pools">Add a pool to gateway.yaml, then add an account to the pool.</Empty>;
  return (
    <Panel title="Pools">
      {data !== undefined ? (
        <Table caption="Pools" columns={columns} rows={data} keyOf={({ pool }) => pool?.name ?? ''} empty={none} />
      ) : connection.state === 'refused' ? (
        <Failure problem={connection.problem} />
      ) : (
        <Loading what="the pools" />
      )}
    </Panel>
  );
}

const columns: readonly Column<PoolStatus>[] = [
  { label: 'Pool', names: true, render: ({ pool }) => <Link to={`/pools/${pool?.name ?? ''}`}>{pool?.name}</Link> },
  { label: 'Accounts', render: ({ accounts }) => <AccountStates accounts={accounts} /> },
  {
    label: 'In flight',
    align: 'end',
    render: ({ accounts }) => formatCount(accounts.reduce((sum, { inFlight }) => sum + inFlight, 0)),
  },
  { label: 'Runs out', render: ({ forecasts, pauses }) => <Outlook forecasts={forecasts} pauses={pauses} /> },
];

function AccountStates({ accounts }: { readonly accounts: readonly Account[] }) {
  if (accounts.length === 0) return <Status tone="bad">none</Status>;
  return (
    <span className="row">
      {standCounts(accounts).map(({ tone, text }) => (
        <Status key={text} tone={tone}>
          {text}
        </Status>
      ))}
    </span>
  );
}

/** A pause is more urgent than a forecast. */
function Outlook({ forecasts, pauses: [pause] }: Pick<PoolStatus, 'forecasts' | 'pauses'>) {
  if (pause === undefined) return <Forecasts forecasts={forecasts} />;
  return (
    <span className="row">
      <PauseLine pause={pause} />
    </span>
  );
}

const soonMs = 3_600_000;

/** The forecast that ends first, or that the quotas last. */
function Forecasts({ forecasts }: { readonly forecasts: readonly QuotaForecast[] }) {
  const nowMs = useNowMs();
  const [first] = forecasts
    .flatMap(({ outlook, endsAtMs, window, models }) =>
      outlook === QuotaOutlook.ENDS && endsAtMs !== undefined ? [{ endsMs: endsAtMs, window, models }] : [],
    )
    .toSorted((one, other) => one.endsMs - other.endsMs);
  if (first === undefined) {
    const lasts = forecasts.some(({ outlook }) => outlook === QuotaOutlook.LASTS);
    return lasts ? <Status tone="good">Not at the current rate</Status> : <span className="faint">Unknown</span>;
  }
  const inMs = first.endsMs - nowMs;
  return (
    <span className="row">
      <Status tone={inMs <= 0 ? 'bad' : inMs < soonMs ? 'warn' : 'neutral'}>
        <Countdown to={first.endsMs} />
      </Status>
      <span className="faint">
        {usedUpText(first.window)}
        {first.models !== '' && ` for ${first.models}`} at <Time at={first.endsMs} toMinute />
      </span>
    </span>
  );
}
