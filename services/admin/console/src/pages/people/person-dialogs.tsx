import { formatCountOf } from '@gateway/presentation';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import type { Person } from '@gateway/proto/identity/v1/person_service_pb.js';
import { useState } from 'react';
import { ChangeDialog } from '../../ui/dialog.tsx';

interface PersonProps {
  readonly person: Person;
  readonly onClose: () => void;
}

export function EndSessions({ person: { personId, email, name, sessions }, onClose }: PersonProps) {
  const named = email || name || personId;
  return (
    <ChangeDialog
      title={`End the sessions of ${named}?`}
      submitLabel="End sessions"
      danger
      method={PersonService.method.endSessions}
      input={{ personId }}
      notice={({ sessions: ended }) => `${formatCountOf(ended.length, 'session')} of ${named} ended.`}
      onClose={onClose}
    >
      <p>
        The tokens of {formatCountOf(sessions.length, 'session')} stop working immediately. {named} can sign in again.
      </p>
    </ChangeDialog>
  );
}

export function DisablePerson({ person: { personId, email, name, disabledAtMs }, onClose }: PersonProps) {
  const named = email || name || personId;
  const [disabling] = useState(disabledAtMs === undefined);
  return (
    <ChangeDialog
      title={disabling ? `Disable ${named}?` : `Enable ${named}?`}
      submitLabel={disabling ? 'Disable person' : 'Enable person'}
      danger={disabling}
      method={PersonService.method.setPersonDisabled}
      input={{ personId, disabled: disabling }}
      notice={() => (disabling ? `${named} is disabled.` : `${named} is enabled.`)}
      onClose={onClose}
    >
      <p>
        {disabling
          ? 'All sessions and tokens of this person stop working immediately, and new sign-ins are refused.'
          : 'This person can sign in again. Ended sessions stay ended.'}
      </p>
    </ChangeDialog>
  );
}
