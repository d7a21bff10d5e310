import { useInfiniteQuery, useQuery } from '@connectrpc/connect-query';
import { formatCompact } from '@gateway/presentation';
import { type GroupListing, GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type TokenListing, TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Group } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { useSigned } from '../../api/session.tsx';
import { Link } from '../../frame/link.tsx';
import { Fact, Page, Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Chart } from '../../ui/chart.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Answer, Empty, NoAnswer, OutOfDate } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { byPages, type Column, More, Table } from '../../ui/table.tsx';
import { localDayOf, Time } from '../../ui/time.tsx';
import { TokenLimits } from '../tokens/token-limits.tsx';
import { standOfToken } from '../tokens/token-stand.ts';
import { addDays, dayLabel, noonOf } from '../usage/usage-period.ts';
import { DeleteGroup, EditGroup } from './group-dialogs.tsx';
import { GroupLimits } from './group-limits.tsx';

/** One group: its limits and rules, what it has spent, its tokens. */
export function GroupPage() {
  const { groupId = '' } = useParams();
  const { data, error, refetch } = useQuery(
    GroupService.method.getGroup,
    { group: groupId },
    { refetchInterval: 5_000 },
  );
  const { group: listing, currency = '' } = data ?? {};
  if (listing?.group !== undefined)
    return <Known listing={listing} group={listing.group} currency={currency} error={error} />;
  return (
    <Page title="Group" about={<Link to="/groups">All groups</Link>}>
      <NoAnswer
        of={{ error, refetch }}
        what="the group"
        notFound={<Empty title={`No group with the id “${groupId}”`}>It may have been deleted.</Empty>}
      />
    </Page>
  );
}

interface KnownProps {
  readonly listing: GroupListing;
  readonly group: Group;
  readonly currency: string;
  /** Why the group could not be refreshed. */
  readonly error: Error | null;
}

function Known({ listing, group, currency, error }: KnownProps) {
  const { may } = useSigned();
  const [asked, setAsked] = useState<'edit' | 'delete'>();
  const [, navigate] = useLocation();
  const close = () => setAsked(undefined);
  const { limits, budgetEndsAt, tokensByDay } = listing;
  const today = localDayOf(Date.now());
  return (
    <Page
      title={group.name}
      about={<Link to="/groups">All groups</Link>}
      actions={
        may(Role.OPERATOR) && (
          <>
            <Button onClick={() => setAsked('edit')}>Edit</Button>
            <Button kind="danger" onClick={() => setAsked('delete')}>
              Delete
            </Button>
          </>
        )
      }
    >
      <OutOfDate error={error} />
      <div className="panels">
        <Panel title="Group" aside={<Stand listing={listing} />}>
          <dl className="facts">
            <Fact name="Id">
              <code>{group.groupId}</code> <CopyButton text={group.groupId} what="group id" />
            </Fact>
            <Fact name="Models">{group.access?.models.join(', ') || 'All'}</Fact>
            <Fact name="Account labels">{group.access?.accountLabels.join(', ') || 'Any account'}</Fact>
            <Fact name="Created">
              <Time at={group.createdAt} />
            </Fact>
            <Fact name="Note">{group.note || <span className="faint">None</span>}</Fact>
          </dl>
        </Panel>
        <Panel
          title="Current limits"
          aside={
            limits?.budget?.resetsAt !== undefined && (
              <>
                budget resets at <Time at={limits.budget.resetsAt} />
              </>
            )
          }
        >
          {group.limits === undefined ? (
            <span className="faint">Unlimited</span>
          ) : (
            <GroupLimits status={limits} budgetEndsAt={budgetEndsAt} currency={currency} />
          )}
        </Panel>
        <Panel title="Tokens used" wide>
          <Chart
            label="Tokens by day (Europe/Amsterdam)"
            kind="bars"
            times={tokensByDay.map((_, index) => noonOf(addDays(today, index - tokensByDay.length + 1)))}
            series={[{ label: 'Tokens', colour: 'chart-1', values: tokensByDay.map(Number) }]}
            format={formatCompact}
            formatTime={dayLabel}
          />
        </Panel>
        <Members groupId={group.groupId} />
      </div>
      {asked === 'edit' && <EditGroup group={group} onClose={close} />}
      {asked === 'delete' && <DeleteGroup group={group} onClose={close} onDeleted={() => navigate('/groups')} />}
    </Page>
  );
}

/** Whether the budget lasts. */
function Stand({ listing: { limits, budgetEndsAt } }: { readonly listing: GroupListing }) {
  const budget = limits?.budget;
  if (budget === undefined) return null;
  if (budget.spentMicros >= budget.amountMicros) return <Status tone="bad">Budget spent</Status>;
  if (budgetEndsAt !== undefined) return <Status tone="warn">Budget will not last</Status>;
  return <Status tone="good">Within budget</Status>;
}

function Members({ groupId }: { readonly groupId: string }) {
  const list = useInfiniteQuery(
    TokenService.method.listTokens,
    { groupId, pageSize: 50, pageToken: '' },
    { ...byPages, refetchInterval: 10_000 },
  );
  return (
    <Panel title="Tokens" wide>
      <Answer of={list} what="tokens">
        {({ pages }) => (
          <>
            <Table
              caption="Tokens of the group, newest first"
              rows={pages.flatMap(({ tokens }) => tokens)}
              keyOf={({ token }) => token?.tokenId ?? ''}
              columns={columns}
              empty={<Empty title="No tokens yet">Choose this group when you issue or edit a token.</Empty>}
            />
            <More of={list} />
          </>
        )}
      </Answer>
    </Panel>
  );
}

const columns: readonly Column<TokenListing>[] = [
  {
    label: 'Token',
    names: true,
    render: ({ token }) => <Link to={`/tokens/${token?.tokenId}`}>{token?.label}</Link>,
  },
  {
    label: 'State',
    render: ({ token }) => {
      const { tone = 'neutral', text = '' } = token === undefined ? {} : standOfToken(token, Date.now());
      return <Status tone={tone}>{text}</Status>;
    },
  },
  {
    label: 'Own limits',
    render: ({ token, limits, tokensByDay }) =>
      token && <TokenLimits token={token} status={limits} recordedToday={tokensByDay.at(-1) ?? 0n} />,
  },
];
