import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { SelectField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';

const hour = 3600;

/**
 * A new text for a token, shown once.
 * @param token as it is now: it may change while this is open.
 */
export function RotateToken({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const { tokenId, label, revision } = token;
  const [seen] = useState(revision);
  const [keep, setKeep] = useState(String(hour));
  const [text, setText] = useState<string>();
  const { run, busy, problem } = useChange(TokenService.method.rotateToken, {
    onDone: ({ tokenText }) => setText(tokenText),
  });
  if (text !== undefined) {
    return (
      <SecretOnce title={`The new token of ${label}`} secret={text} what="token" onClose={onClose}>
        Give it to the holder of the old one.
      </SecretOnce>
    );
  }
  return (
    <FormDialog
      title={`Rotate ${label}?`}
      submitLabel={revision === seen ? 'Rotate token' : 'Rotate it all the same'}
      busy={busy}
      problem={problem?.kind === 'conflict' && revision !== seen ? undefined : problem}
      fields={['keepOldSeconds']}
      onSubmit={() => run({ tokenId, keepOldSeconds: Number(keep), expectedRevision: revision })}
      onClose={onClose}
    >
      <p>It gets a new text, and keeps its id, limits and usage.</p>
      <SelectField
        label="The old text works on"
        value={keep}
        onValue={setKeep}
        problem={problem?.fields.keepOldSeconds}
      >
        <option value="0">no longer: it has leaked</option>
        <option value={hour}>for an hour</option>
        <option value={24 * hour}>for a day</option>
        <option value={7 * 24 * hour}>for 7 days</option>
        <option value={30 * 24 * hour}>for 30 days</option>
      </SelectField>
      {revision !== seen && (
        <p className="problem-note" role="alert">
          Somebody else changed or rotated it meanwhile: the audit log says who. A text that they were given may end
          with this.
        </p>
      )}
    </FormDialog>
  );
}
