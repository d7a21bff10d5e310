import { useQuery } from '@connectrpc/connect-query';
import { formatCountOf } from '@gateway/presentation';
import { type Operator, OperatorService } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useState } from 'react';
import { useSigned } from '../../api/session.tsx';
import { Page, Panel } from '../../frame/page.tsx';
import { roleNames } from '../../frame/role-names.ts';
import { Button } from '../../ui/button.tsx';
import { Answer } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Ago, Time } from '../../ui/time.tsx';
import { CreateOperator, DisableOperator, EditOperator, RotateToken } from './operator-dialogs.tsx';

type Open = { readonly dialog: 'create' } | { readonly dialog: 'role' | 'use' | 'rotate'; readonly operatorId: string };

/** The operators, who may sign in here. */
export function OperatorsPage() {
  const operators = useQuery(OperatorService.method.listOperators, {});
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const own = useSigned().session.holder;
  const ownId = own.case === 'operator' ? own.value.operatorId : '';
  // A dialog shows the operator's current state: after a conflict, the other person's change.
  const chosen =
    open !== undefined && open.dialog !== 'create'
      ? operators.data?.operators.find(({ operatorId }) => operatorId === open.operatorId)
      : undefined;
  return (
    <Page
      title="Operators"
      about="Viewers can see everything except secrets, operators and the audit log. Operators can also change tokens, accounts and the ledger. Admins can also manage operators."
      actions={
        <Button kind="primary" onClick={() => setOpen({ dialog: 'create' })}>
          New operator
        </Button>
      }
    >
      <Answer of={operators} what="the operators">
        {({ operators }) => (
          <Panel title={formatCountOf(operators.length, 'operator')}>
            <Table
              caption="Operators"
              columns={columnsFor(ownId, setOpen)}
              rows={operators}
              keyOf={({ operatorId }) => operatorId}
            />
          </Panel>
        )}
      </Answer>
      {open?.dialog === 'create' && <CreateOperator onClose={close} />}
      {open?.dialog === 'role' && chosen && <EditOperator operator={chosen} onClose={close} />}
      {open?.dialog === 'use' && chosen && <DisableOperator operator={chosen} onClose={close} />}
      {open?.dialog === 'rotate' && chosen && (
        <RotateToken operator={chosen} isSelf={chosen.operatorId === ownId} onClose={close} />
      )}
    </Page>
  );
}

function columnsFor(ownId: string, open: (open: Open) => void): readonly Column<Operator>[] {
  return [
    {
      label: 'Name',
      names: true,
      render: ({ name, operatorId }) => (
        <>
          {name} {operatorId === ownId && <span className="faint">(you)</span>}
        </>
      ),
    },
    { label: 'Role', render: ({ role }) => roleNames[role] },
    {
      label: 'State',
      render: ({ disabledAtMs }) =>
        disabledAtMs === undefined ? <Status tone="good">Active</Status> : <Status tone="neutral">Disabled</Status>,
    },
    {
      label: 'Sign-in method',
      render: ({ oidcSubject }) => (oidcSubject === '' ? 'Token' : <span title={oidcSubject}>OpenID Connect</span>),
    },
    { label: 'Last seen', render: ({ lastSeenAtMs }) => <Ago at={lastSeenAtMs} /> },
    { label: 'Created', render: ({ createdAtMs }) => <Time at={createdAtMs} /> },
    {
      label: 'Actions',
      labelHidden: true,
      align: 'end',
      render: (operator) => <Actions operator={operator} open={open} />,
    },
  ];
}

function Actions({
  operator: { name, operatorId, oidcSubject, disabledAtMs },
  open,
}: {
  readonly operator: Operator;
  readonly open: (open: Open) => void;
}) {
  const action = (dialog: 'role' | 'use' | 'rotate', label: string) => (
    <Button kind="quiet" aria-label={`${label}: ${name}`} onClick={() => open({ dialog, operatorId })}>
      {label}
    </Button>
  );
  return (
    <span className="row end">
      {oidcSubject === '' && action('role', 'Change role')}
      {oidcSubject === '' && action('rotate', 'New token')}
      {action('use', disabledAtMs === undefined ? 'Disable' : 'Enable')}
    </span>
  );
}
