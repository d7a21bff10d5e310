import { type Operator, OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useState } from 'react';
import type { Problem } from '../../api/problem.ts';
import { roleNames } from '../../frame/role-names.ts';
import { ChangeDialog, SecretOnce } from '../../ui/dialog.tsx';
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
  if (made !== undefined) {
    return (
      <SecretOnce title={`Token for ${made.name}`} secret={made.token} what="token" onClose={onClose}>
        Anyone who has it can sign in as {made.name}. Send it over a secure channel.
      </SecretOnce>
    );
  }
  return (
    <ChangeDialog
      title="New operator"
      submitLabel="Create operator"
      method={OperatorService.method.createOperator}
      input={{ name: name.trim(), role: Number(role) }}
      fields={['name', 'role']}
      onDone={({ operator, token }) => setMade({ name: operator?.name ?? name, token })}
      onClose={onClose}
    >
      {(problem) => (
        <>
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
        </>
      )}
    </ChangeDialog>
  );
}

export function EditOperator({ operator, onClose }: OperatorProps) {
  const [role, setRole] = useState(String(operator.role));
  return (
    <ChangeDialog
      title={`Change the role of ${operator.name}`}
      submitLabel="Change role"
      method={OperatorService.method.updateOperator}
      input={{ operatorId: operator.operatorId, role: Number(role), expectedRevision: operator.revision }}
      conflict={<CurrentState operator={operator} />}
      notice={() => `${operator.name} now has the role ${roleNames[Number(role) as Role]}.`}
      onClose={onClose}
    >
      {(problem) => <RoleField role={role} onRole={setRole} problem={problem} />}
    </ChangeDialog>
  );
}

export function DisableOperator({ operator, onClose }: OperatorProps) {
  const [disabling] = useState(operator.disabledAtMs === undefined);
  const { operatorId, name, revision } = operator;
  return (
    <ChangeDialog
      title={disabling ? `Disable ${name}?` : `Enable ${name}?`}
      submitLabel={disabling ? 'Disable operator' : 'Enable operator'}
      danger={disabling}
      method={OperatorService.method.updateOperator}
      input={{ operatorId, disabled: disabling, expectedRevision: revision }}
      conflict={<CurrentState operator={operator} />}
      notice={() => (disabling ? `${name} is disabled.` : `${name} is enabled.`)}
      onClose={onClose}
    >
      <p>
        {disabling
          ? 'All sessions end immediately, and the token stops working until the operator is enabled again.'
          : 'The operator can sign in again with the same token and role.'}
      </p>
    </ChangeDialog>
  );
}

export function RotateToken({ operator, isSelf, onClose }: OperatorProps & { readonly isSelf: boolean }) {
  const { operatorId, name, revision } = operator;
  const [token, setToken] = useState<string>();
  if (token !== undefined) {
    return (
      <SecretOnce title={`New token for ${name}`} secret={token} what="token" onClose={onClose}>
        The old token no longer works.{isSelf && ' Sign in again with the new one.'}
      </SecretOnce>
    );
  }
  return (
    <ChangeDialog
      title={`Rotate the token of ${name}?`}
      submitLabel="Rotate token"
      danger
      method={OperatorService.method.rotateOperatorToken}
      input={{ operatorId, expectedRevision: revision }}
      conflict={<CurrentState operator={operator} />}
      onDone={(answer) => setToken(answer.token)}
      onClose={onClose}
    >
      <p>The old token stops working immediately, and all sessions of {name} end.</p>
    </ChangeDialog>
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
function CurrentState({ operator: { name, role, disabledAtMs } }: Pick<OperatorProps, 'operator'>) {
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
