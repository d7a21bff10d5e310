import { formatCount } from '@gateway/presentation';
import type { UsageRow } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { accountLink } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { useSimulatedPools } from '../../frame/simulation-note.tsx';
import { Empty } from '../../ui/state.tsx';
import { Bar } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { cacheWritesOf, changeText, costNote, costText, type Measure, sumOf } from './measures.ts';
import { groups, type UsageQuestion, usageLink } from './usage-question.ts';

interface UsageRowsProps {
  readonly question: UsageQuestion;
  readonly rows: readonly UsageRow[];
  readonly measure: Measure;
  readonly currency: string;
}

/** Rows of a report, with links to details. */
export function UsageRows({ question, rows, measure, currency }: UsageRowsProps) {
  const amountOf = ({ usage, cost }: UsageRow) => measure.of(usage?.totals, cost);
  const most = Math.max(1, ...rows.map(amountOf));
  // Days keep their order. Other rows are sorted by size, as far as they are loaded.
  const ordered =
    question.by === 'day' ? rows.toReversed() : rows.toSorted((one, other) => amountOf(other) - amountOf(one));
  const columns: readonly Column<UsageRow>[] = [
    { label: groups[question.by].label, names: true, render: (row) => <Key row={row} question={question} /> },
    {
      label: measure.label,
      render: (row) => (
        <Bar share={amountOf(row) / most} label={`${measure.label}, relative to the largest row`} tone="info" />
      ),
    },
    ...(measure.label === 'Tokens'
      ? [{ label: 'Total', align: 'end' as const, render: (row: UsageRow) => measure.format(amountOf(row)) }]
      : []),
    { label: 'Requests', align: 'end', render: ({ usage }) => formatCount(usage?.totals?.requests ?? 0) },
    { label: 'Input', align: 'end', render: ({ usage }) => formatCount(usage?.totals?.inputTokens ?? 0) },
    { label: 'Cached', align: 'end', render: ({ usage }) => formatCount(usage?.totals?.cachedTokens ?? 0) },
    { label: 'Cache writes', align: 'end', render: ({ usage }) => formatCount(cacheWritesOf(usage?.totals)) },
    { label: 'Output', align: 'end', render: ({ usage }) => formatCount(usage?.totals?.outputTokens ?? 0) },
    ...(currency === '' ? [] : [money(currency)]),
    ...(question.compare ? [before(measure)] : []),
  ];
  return (
    <Table
      caption={`Usage by ${question.by}`}
      rows={ordered}
      keyOf={({ usage }) =>
        `${usage?.localDay} ${usage?.tokenId} ${usage?.provider} ${usage?.model} ${usage?.accountId} ${usage?.groupId}`
      }
      columns={columns}
      empty={
        <Empty title="No usage in this period">
          Choose another period, or send a request: it appears here as soon as it completes.
        </Empty>
      }
    />
  );
}

function money(currency: string): Column<UsageRow> {
  return {
    label: 'Cost',
    align: 'end',
    render: (row) => {
      const sums = sumOf([row]);
      const note = costNote(sums, currency);
      return (
        <span title={note}>
          {costText(sums, currency)}
          {note !== undefined && '*'}
        </span>
      );
    },
  };
}

function before(measure: Measure): Column<UsageRow> {
  return {
    label: 'Previous period',
    align: 'end',
    render: ({ usage, cost, before, costBefore }) => {
      const [now, then] = [measure.of(usage?.totals, cost), measure.of(before, costBefore)];
      return (
        <>
          {measure.format(then)} <span className="faint">{changeText(now, then)}</span>
        </>
      );
    },
  };
}

/** The key of a row, with a link to details. */
function Key({
  row: { usage, tokenLabel, groupName },
  question,
}: {
  readonly row: UsageRow;
  readonly question: UsageQuestion;
}) {
  const simulated = useSimulatedPools();
  if (usage === undefined) return null;
  const { localDay, tokenId, provider, model, accountId, groupId } = usage;
  switch (question.by) {
    case 'day':
      return localDay;
    case 'token':
      return <Link to={`/tokens/${tokenId}`}>{tokenLabel || `${tokenId.slice(0, 8)} (deleted)`}</Link>;
    case 'account':
      return accountId === '' ? (
        <span className="faint">No account recorded</span>
      ) : (
        <>
          <Link to={accountLink(accountId)}>{accountId}</Link>
          {simulated.includes(accountId.split('/')[0] ?? '') && <span className="faint"> simulated</span>}
        </>
      );
    case 'group':
      return groupId === '' ? (
        <span className="faint">No group</span>
      ) : (
        <Link to={usageLink({ ...question, by: 'token', group: groupId })}>
          {groupName || `${groupId.slice(0, 8)} (deleted)`}
        </Link>
      );
    case 'model':
      return (
        <>
          <Link to={usageLink({ ...question, by: 'day', model })}>{model}</Link>{' '}
          <span className="faint">{provider}</span>
        </>
      );
  }
}
