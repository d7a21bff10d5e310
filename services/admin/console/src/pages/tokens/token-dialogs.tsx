import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { FormDialog, SecretOnce } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/state.tsx';
import { differences, draftOf, tokenFieldNames, updateOf } from './token-draft.ts';
import { TokenFields } from './token-fields.tsx';

interface TokenProps {
  /** As it is now: it may change while this is open. */
  readonly token: Token;
  readonly onClose: () => void;
}

export function EditToken({ token, onClose }: TokenProps) {
  const [seen] = useState(token);
  const [draft, setDraft] = useState(() => draftOf(seen));
  const { run, busy, problem } = useChange(TokenService.method.updateToken, {
    notice: ({ token: updated }) => `${updated?.label} was changed.`,
    onDone: onClose,
  });
  // What somebody else did is shown as soon as it is known; then this one's changes go on top of it.
  const changed = token.revision === seen.revision ? [] : differences(seen, token);
  return (
    <FormDialog
      title={`Edit ${seen.label}`}
      submitLabel={changed.length > 0 ? 'Save my changes on top' : 'Save'}
      busy={busy}
      problem={problem?.kind === 'conflict' && changed.length > 0 ? undefined : problem}
      fields={tokenFieldNames}
      onSubmit={() => run({ ...updateOf(seen, draft), expectedRevision: token.revision })}
      onClose={onClose}
    >
      <TokenFields draft={draft} onDraft={setDraft} problem={problem} isNew={false} />
      {changed.length > 0 && (
        <div className="problem-note" role="alert">
          <p>Somebody else changed it meanwhile. What you did not touch stays as they made it:</p>
          <ul>
            {changed.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </div>
      )}
    </FormDialog>
  );
}

/** A new text for a token, shown once. */
export function RotateToken({ token, onClose }: TokenProps) {
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
        <ProblemNote>
          Somebody else changed or rotated it meanwhile: the audit log says who. A text that they were given may end
          with this.
        </ProblemNote>
      )}
    </FormDialog>
  );
}

const hour = 3600;

export function RevokeToken({ token: { tokenId, label }, onClose }: TokenProps) {
  const { run, busy, problem } = useChange(TokenService.method.revokeToken, {
    notice: () => `${label} was revoked.`,
    onDone: onClose,
  });
  return (
    <FormDialog
      title={`Revoke ${label}?`}
      submitLabel="Revoke token"
      danger
      busy={busy}
      problem={problem}
      onSubmit={() => run({ tokenId })}
      onClose={onClose}
    >
      <p>
        The next request with it is refused with 401. Answers that have begun go on to their end. This cannot be undone;
        its usage stays.
      </p>
    </FormDialog>
  );
}
