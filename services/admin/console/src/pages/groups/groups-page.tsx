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
import { CreateGroup } from './group-dialogs.tsx';
import { GroupLimits } from './group-limits.tsx';

/** Groups with the state of their limits. */
export function GroupsPage() {
  const { may } = useSigned();
  const [isCreating, setCreating] = useState(false);
  const list = useQuery(GroupService.method.listGroups, {}, { refetchInterval: 5_000 });
  return (
    <Page
      title="Groups"
      about="Tokens that share limits, a budget and access rules: a team, a product, a customer."
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
              empty={<Empty title="No groups yet">A token without a group has only limits of its own.</Empty>}
            />
          )}
        </Answer>
      </section>
      {isCreating && <CreateGroup onClose={() => setCreating(false)} />}
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
    { label: 'Tokens', align: 'end', render: ({ group }) => group?.tokens ?? 0 },
    {
      label: 'Current limits',
      render: ({ group, limits, budgetEndsAt }) =>
        group?.limits === undefined ? (
          <span className="faint">Unlimited</span>
        ) : (
          <GroupLimits status={limits} budgetEndsAt={budgetEndsAt} currency={currency} />
        ),
    },
    { label: 'Models', render: ({ group }) => group?.access?.models.join(', ') || <span className="faint">All</span> },
    {
      label: 'Account labels',
      render: ({ group }) => group?.access?.accountLabels.join(', ') || <span className="faint">Any account</span>,
    },
  ];
}
