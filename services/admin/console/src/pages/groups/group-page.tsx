import { useInfiniteQuery, useQuery } from '@connectrpc/connect-query';
import { formatCompact } from '@gateway/presentation';
import { type GroupListing, GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Group } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useParams } from 'wouter';
import { useSigned } from '../../api/session.tsx';
import { Link } from '../../frame/link.tsx';
import { Fact, Page, Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Chart } from '../../ui/chart.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Answer, Empty, NoAnswer, OutOfDate } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { byPages, More, Table } from '../../ui/table.tsx';
import { localDayOf, Time } from '../../ui/time.tsx';
import { AccessFacts } from '../tokens/access-facts.tsx';
import { TokenLimits } from '../tokens/token-limits.tsx';
import { tokenColumns } from '../tokens/tokens-page.tsx';
import { addDays, dayLabel, noonOf } from '../usage/usage-period.ts';
import { GroupBudget } from './budget.tsx';
import { DeleteGroup, EditGroup } from './group-dialogs.tsx';
import '../tokens/tokens.css';

/** One group: its rules, its budget with the forecast, its limits and its tokens. */
export function GroupPage() {
  const { groupId = '' } = useParams();
  const { data, error, refetch } = useQuery(
    GroupService.method.getGroup,
    { group: groupId },
    { refetchInterval: 5_000 },
  );
  const listing = data?.group;
  if (listing?.group !== undefined)
    return <Known listing={listing} group={listing.group} currency={data?.currency ?? ''} error={error} />;
  const title = `No group with the id “${groupId}”`;
  return (
    <Page title="Group" about={<Link to="/groups">All groups</Link>}>
      <NoAnswer of={{ error, refetch }} what="the group" notFound={<Empty title={title}>It may be deleted.</Empty>} />
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
  const close = () => setAsked(undefined);
  const { tokensByDay } = listing;
  const today = localDayOf(Date.now());
  const days = tokensByDay.map((_, index) => addDays(today, index - tokensByDay.length + 1));
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
        <Panel title="Group">
          <dl className="facts">
            <Fact name="Id">
              <code>{group.groupId}</code> <CopyButton text={group.groupId} what="group id" />
            </Fact>
            <AccessFacts access={group.access} />
            <Fact name="Created">
              <Time at={group.createdAtMs} />
            </Fact>
            <Fact name="Note">{group.note || <span className="faint">None</span>}</Fact>
          </dl>
        </Panel>
        <Panel title="Budget">
          <GroupBudget listing={listing} currency={currency} detailed />
          {listing.warnings.map((text) => (
            <p key={text}>
              <Status tone="warn">Attention</Status> {text}
            </p>
          ))}
        </Panel>
        <Panel title="Current limits">
          <TokenLimits token={group} status={listing.limits} recordedToday={tokensByDay.at(-1) ?? 0} detailed />
        </Panel>
        <Panel title="Tokens used" aside={<Link to="/usage?by=group">Usage by group</Link>} wide>
          <Chart
            label="Tokens by day (Europe/Amsterdam)"
            kind="bars"
            times={days.map(noonOf)}
            series={[{ label: 'Tokens', colour: 'chart-1', values: tokensByDay }]}
            format={formatCompact}
            formatTime={dayLabel}
          />
        </Panel>
        <Panel
          title="Tokens"
          aside={may(Role.OPERATOR) && <Link to={`/tokens/new?group=${group.groupId}`}>Issue token</Link>}
          wide
        >
          <Tokens groupId={group.groupId} />
        </Panel>
      </div>
      {asked === 'edit' && <EditGroup group={group} namedBy={listing.namedBy} currency={currency} onClose={close} />}
      {asked === 'delete' && <DeleteGroup group={group} namedBy={listing.namedBy} onClose={close} />}
    </Page>
  );
}

function Tokens({ groupId }: { readonly groupId: string }) {
  const list = useInfiniteQuery(
    TokenService.method.listTokens,
    { groupId, pageSize: 50, pageToken: '' },
    { ...byPages, refetchInterval: 5_000 },
  );
  return (
    <Answer of={list} what="its tokens">
      {({ pages }) => (
        <>
          <Table
            caption="Tokens of the group, newest first"
            rows={pages.flatMap(({ tokens }) => tokens)}
            keyOf={({ token }) => token?.tokenId ?? ''}
            columns={ownColumns}
            empty={<Empty title="No tokens">Issue one here, or choose this group when you edit a token.</Empty>}
          />
          <More of={list} />
        </>
      )}
    </Answer>
  );
}

const ownColumns = tokenColumns({ withGroup: false });
