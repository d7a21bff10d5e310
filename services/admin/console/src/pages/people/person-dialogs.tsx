import { formatCountOf } from '@gateway/presentation';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import type { Person } from '@gateway/proto/identity/v1/person_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { FormDialog } from '../../ui/dialog.tsx';

interface PersonProps {
  readonly person: Person;
  readonly onClose: () => void;
}

export function EndSessions({ person: { personId, email, name, sessions }, onClose }: PersonProps) {
  const named = email || name || personId;
  const end = useChange(PersonService.method.endSessions, {
    notice: ({ sessions: ended }) => `${formatCountOf(ended.length, 'session')} of ${named} ended.`,
    onDone: onClose,
  });
  return (
    <FormDialog
      title={`End the sessions of ${named}?`}
      submitLabel="End sessions"
      danger
      busy={end.busy}
      problem={end.problem}
      onSubmit={() => end.run({ personId })}
      onClose={onClose}
    >
      <p>
        The tokens of {formatCountOf(sessions.length, 'session')} stop working immediately. {named} can sign in again.
      </p>
    </FormDialog>
  );
}

export function DisablePerson({ person: { personId, email, name, disabledAtMs }, onClose }: PersonProps) {
  const named = email || name || personId;
  const [disabling] = useState(disabledAtMs === undefined);
  const change = useChange(PersonService.method.setPersonDisabled, {
    notice: () => (disabling ? `${named} is disabled.` : `${named} is enabled.`),
    onDone: onClose,
  });
  return (
    <FormDialog
      title={disabling ? `Disable ${named}?` : `Enable ${named}?`}
      submitLabel={disabling ? 'Disable person' : 'Enable person'}
      danger={disabling}
      busy={change.busy}
      problem={change.problem}
      onSubmit={() => change.run({ personId, disabled: disabling })}
      onClose={onClose}
    >
      <p>
        {disabling
          ? 'All sessions and tokens of this person stop working immediately, and new sign-ins are refused.'
          : 'This person can sign in again. Ended sessions stay ended.'}
      </p>
    </FormDialog>
  );
}
