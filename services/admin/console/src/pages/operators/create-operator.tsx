import { OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';
import { ProblemNote } from '../../ui/state.tsx';
import { choosableRoles } from './operator-roles.ts';

/** A new operator. Its token is shown once. */
export function CreateOperator({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState(String(Role.VIEWER));
  const [made, setMade] = useState<{ readonly name: string; readonly token: string }>();
  const create = useChange(OperatorService.method.createOperator, {
    onDone: ({ operator, token }) => setMade({ name: operator?.name ?? name, token }),
  });
  if (made !== undefined) {
    return (
      <SecretOnce title={`The token of ${made.name}`} secret={made.token} what="token" onClose={onClose}>
        Whoever has it may sign in as {made.name}. Hand it over on a safe way.
      </SecretOnce>
    );
  }
  const fields = create.problem?.fields ?? {};
  return (
    <Dialog title="New operator" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.run({ name: name.trim(), role: Number(role) });
        }}
      >
        <div className="dialog-body">
          <TextField
            label="Name"
            hint="As it will stand in the audit log. 1 to 100 characters."
            value={name}
            onValue={setName}
            problem={fields.name}
            autoComplete="off"
            required
            maxLength={100}
          />
          <SelectField label="Role" value={role} onValue={setRole} problem={fields.role}>
            {choosableRoles.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </SelectField>
          {create.problem !== undefined && <ProblemNote problem={create.problem} />}
        </div>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            Create operator
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
