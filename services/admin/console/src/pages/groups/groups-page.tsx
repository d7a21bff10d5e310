import { useQuery } from '@connectrpc/connect-query';
import { type GroupListing, GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useState } from 'react';
import { useSigned } from '../../api/session.tsx';
import { Link } from '../../frame/link.tsx';
import { Page } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { TokenLimits } from '../tokens/token-limits.tsx';
import { GroupBudget } from './budget.tsx';
import { CreateGroup } from './group-dialogs.tsx';

/** Groups of tokens, with what they have spent. */
export function GroupsPage() {
  const { may } = useSigned();
  const [creating, setCreating] = useState(false);
  const list = useQuery(GroupService.method.listGroups, {}, { refetchInterval: 5_000 });
  return (
    <Page
      title="Groups"
      about="Tokens that share limits, a budget and access rules. Forecasts assume that a group continues to spend as in this period so far."
      actions={
        may(Role.OPERATOR) && (
          <Button kind="primary" onClick={() => setCreating(true)}>
            Create group
          </Button>
        )
      }
    >
      <section className="panel" aria-label="Groups">
        <Answer of={list} what="groups">
          {({ groups, currency }) => (
            <Table
              caption="Groups by name"
              rows={groups}
              keyOf={({ group }) => group?.groupId ?? ''}
              columns={columnsIn(currency)}
              empty={<Empty title="No groups yet">A group gives a team a budget and limits of its own.</Empty>}
            />
          )}
        </Answer>
      </section>
      {creating && <CreateGroup currency={list.data?.currency ?? ''} onClose={() => setCreating(false)} />}
    </Page>
  );
}

function columnsIn(currency: string): readonly Column<GroupListing>[] {
  return [
    {
      label: 'Group',
      names: true,
      render: ({ group }) => (
        <>
          <Link to={`/groups/${group?.groupId}`}>{group?.name}</Link>
          {group?.note && <div className="faint small clipped">{group.note}</div>}
        </>
      ),
    },
    { label: 'Tokens', align: 'end', render: ({ group }) => group?.tokens },
    { label: 'Budget', render: (listing) => <GroupBudget listing={listing} currency={currency} /> },
    {
      label: 'Current limits',
      render: ({ group, limits, tokensByDay }) =>
        group && <TokenLimits token={group} status={limits} recordedToday={tokensByDay.at(-1) ?? 0} />,
    },
  ];
}
