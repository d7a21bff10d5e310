import { type Operator, OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import type { Problem } from '../../api/problem.ts';
import { roleNames } from '../../frame/role-names.ts';
import { FormDialog, SecretOnce } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Time } from '../../ui/time.tsx';

interface OperatorProps {
  readonly operator: Operator;
  readonly onClose: () => void;
}

/** A new operator. Its token is shown once. */
export function CreateOperator({ onClose }: Pick<OperatorProps, 'onClose'>) {
  const [name, setName] = useState('');
  const [role, setRole] = useState(String(Role.VIEWER));
  const [made, setMade] = useState<{ readonly name: string; readonly token: string }>();
  const { run, busy, problem } = useChange(OperatorService.method.createOperator, {
    onDone: ({ operator, token }) => setMade({ name: operator?.name ?? name, token }),
  });
  if (made !== undefined) {
    return (
      <SecretOnce title={`Token for ${made.name}`} secret={made.token} what="token" onClose={onClose}>
        Anyone who has it can sign in as {made.name}. Send it over a secure channel.
      </SecretOnce>
    );
  }
  return (
    <FormDialog
      title="New operator"
      submitLabel="Create operator"
      busy={busy}
      problem={problem}
      fields={['name', 'role']}
      onSubmit={() => run({ name: name.trim(), role: Number(role) })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Shown in the audit log. 1 to 100 characters."
        value={name}
        onValue={setName}
        problem={problem?.fields.name}
        autoComplete="off"
        required
        maxLength={100}
      />
      <RoleField role={role} onRole={setRole} problem={problem} />
    </FormDialog>
  );
}

export function EditOperator({ operator, onClose }: OperatorProps) {
  const [role, setRole] = useState(String(operator.role));
  const update = useChange(OperatorService.method.updateOperator, {
    notice: () => `${operator.name} now has the role ${roleNames[Number(role) as Role]}.`,
    onDone: onClose,
  });
  return (
    <FormDialog
      title={`Change the role of ${operator.name}`}
      submitLabel="Change role"
      busy={update.busy}
      problem={update.problem}
      onSubmit={() =>
        update.run({ operatorId: operator.operatorId, role: Number(role), expectedRevision: operator.revision })
      }
      onClose={onClose}
    >
      <Conflict problem={update.problem} operator={operator} />
      <RoleField role={role} onRole={setRole} problem={update.problem} />
    </FormDialog>
  );
}

export function DisableOperator({ operator, onClose }: OperatorProps) {
  const [disabling] = useState(operator.disabledAtMs === undefined);
  const { operatorId, name, revision } = operator;
  const update = useChange(OperatorService.method.updateOperator, {
    notice: () => (disabling ? `${name} is disabled.` : `${name} is enabled.`),
    onDone: onClose,
  });
  return (
    <FormDialog
      title={disabling ? `Disable ${name}?` : `Enable ${name}?`}
      submitLabel={disabling ? 'Disable operator' : 'Enable operator'}
      danger={disabling}
      busy={update.busy}
      problem={update.problem}
      onSubmit={() => update.run({ operatorId, disabled: disabling, expectedRevision: revision })}
      onClose={onClose}
    >
      <Conflict problem={update.problem} operator={operator} />
      <p>
        {disabling
          ? 'All sessions end immediately, and the token stops working until the operator is enabled again.'
          : 'The operator can sign in again with the same token and role.'}
      </p>
    </FormDialog>
  );
}

export function RotateToken({ operator, isSelf, onClose }: OperatorProps & { readonly isSelf: boolean }) {
  const { operatorId, name, revision } = operator;
  const [token, setToken] = useState<string>();
  const rotate = useChange(OperatorService.method.rotateOperatorToken, { onDone: (answer) => setToken(answer.token) });
  if (token !== undefined) {
    return (
      <SecretOnce title={`New token for ${name}`} secret={token} what="token" onClose={onClose}>
        The old token no longer works.{isSelf && ' Sign in again with the new one.'}
      </SecretOnce>
    );
  }
  return (
    <FormDialog
      title={`Rotate the token of ${name}?`}
      submitLabel="Rotate token"
      danger
      busy={rotate.busy}
      problem={rotate.problem}
      onSubmit={() => rotate.run({ operatorId, expectedRevision: revision })}
      onClose={onClose}
    >
      <Conflict problem={rotate.problem} operator={operator} />
      <p>The old token stops working immediately, and all sessions of {name} end.</p>
    </FormDialog>
  );
}

interface RoleFieldProps {
  readonly role: string;
  readonly onRole: (role: string) => void;
  readonly problem: Problem | undefined;
}

function RoleField({ role, onRole, problem }: RoleFieldProps) {
  return (
    <SelectField label="Role" value={role} onValue={onRole} problem={problem?.fields.role}>
      <option value={Role.VIEWER}>Viewer: sees everything except secrets, operators and the audit log</option>
      <option value={Role.OPERATOR}>Operator: can also change tokens, accounts and the ledger</option>
      <option value={Role.ADMIN}>Admin: can also manage operators and see the audit log</option>
    </SelectField>
  );
}

/** The changes by another person: the current state of the operator. */
function Conflict({ problem, operator }: { readonly problem: Problem | undefined; readonly operator: Operator }) {
  if (problem?.kind !== 'conflict') return null;
  const { name, role, disabledAtMs } = operator;
  return (
    <p>
      {name} now has the role {roleNames[role]} and{' '}
      {disabledAtMs === undefined ? (
        'is active'
      ) : (
        <>
          has been disabled since <Time at={disabledAtMs} />
        </>
      )}
      . The audit log shows who made the change. Confirm again to apply yours anyway.
    </p>
  );
}
