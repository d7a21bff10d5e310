import { type Operator, OperatorService } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import type { Problem } from '../../api/problem.ts';
import { roleNames } from '../../frame/role-names.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { useNotify } from '../../ui/notice.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';
import { Time } from '../../ui/time.tsx';
import { choosableRoles } from './operator-roles.ts';

interface OperatorProps {
  readonly operator: Operator;
  readonly onClose: () => void;
}

export function EditOperator({ operator, onClose }: OperatorProps) {
  const notify = useNotify();
  const [role, setRole] = useState(String(operator.role));
  const update = useChange(OperatorService.method.updateOperator, {
    onDone: () => {
      notify(`${operator.name} is ${roleNames[Number(role) as Operator['role']]} now.`);
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Role of ${operator.name}`}
      confirmLabel="Change role"
      busy={update.busy}
      problem={update.problem}
      onConfirm={() =>
        update.run({ operatorId: operator.operatorId, role: Number(role), expectedRevision: operator.revision })
      }
      onClose={onClose}
    >
      <Conflict problem={update.problem} operator={operator} />
      <SelectField label="Role" value={role} onValue={setRole} problem={update.problem?.fields.role}>
        {choosableRoles.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
    </ConfirmDialog>
  );
}

export function DisableOperator({ operator, onClose }: OperatorProps) {
  const notify = useNotify();
  const [disabling] = useState(operator.disabledAt === undefined);
  const { operatorId, name, revision } = operator;
  const update = useChange(OperatorService.method.updateOperator, {
    onDone: () => {
      notify(disabling ? `${name} is kept out.` : `${name} may sign in again.`);
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={disabling ? `Keep ${name} out?` : `Let ${name} in again?`}
      confirmLabel={disabling ? 'Disable operator' : 'Enable operator'}
      danger={disabling}
      busy={update.busy}
      problem={update.problem}
      onConfirm={() => update.run({ operatorId, disabled: disabling, expectedRevision: revision })}
      onClose={onClose}
    >
      <Conflict problem={update.problem} operator={operator} />
      <p>
        {disabling
          ? 'Its sessions end at once, and its token works no more until it is enabled again.'
          : 'It signs in as before, with the same token and role.'}
      </p>
    </ConfirmDialog>
  );
}

export function RotateToken({ operator, isSelf, onClose }: OperatorProps & { readonly isSelf: boolean }) {
  const { operatorId, name, revision } = operator;
  const [token, setToken] = useState<string>();
  const rotate = useChange(OperatorService.method.rotateOperatorToken, { onDone: (answer) => setToken(answer.token) });
  if (token !== undefined) {
    return (
      <SecretOnce title={`The new token of ${name}`} secret={token} what="token" onClose={onClose}>
        The old one works no more.{isSelf && ' Sign in with this one now.'}
      </SecretOnce>
    );
  }
  return (
    <ConfirmDialog
      title={`A new token for ${name}?`}
      confirmLabel="Make a new token"
      danger
      busy={rotate.busy}
      problem={rotate.problem}
      onConfirm={() => rotate.run({ operatorId, expectedRevision: revision })}
      onClose={onClose}
    >
      <Conflict problem={rotate.problem} operator={operator} />
      <p>The old token works no more at once, and the sessions of {name} end.</p>
    </ConfirmDialog>
  );
}

/** What the other person made of the operator, who is shown as it is now. */
function Conflict({ problem, operator }: { readonly problem: Problem | undefined; readonly operator: Operator }) {
  if (problem?.kind !== 'conflict') return null;
  const { name, role, disabledAt } = operator;
  return (
    <p>
      Now {name} is {roleNames[role]} and{' '}
      {disabledAt === undefined ? (
        'may sign in'
      ) : (
        <>
          has been kept out since <Time at={disabledAt} />
        </>
      )}
      . The audit log says who changed it. Confirm again to change it all the same.
    </p>
  );
}
