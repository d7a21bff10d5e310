import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { FormDialog, SecretOnce } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/state.tsx';
import { useGroups } from '../groups/use-groups.ts';
import { ChangedMeanwhile } from './changed-meanwhile.tsx';
import { differences, draftOf, tokenFieldNames, updateOf } from './token-draft.ts';
import { TokenFields } from './token-fields.tsx';

interface TokenProps {
  /** The current state, which may change while this is open. */
  readonly token: Token;
  readonly onClose: () => void;
}

export function EditToken({ token, onClose }: TokenProps) {
  const [seen] = useState(token);
  const [draft, setDraft] = useState(() => draftOf(seen));
  const { run, busy, problem } = useChange(TokenService.method.updateToken, {
    alsoRefresh: [GroupService],
    notice: ({ token: updated }) => `${updated?.label} was updated.`,
    onDone: onClose,
  });
  const groups = useGroups();
  const nameOf = (wanted: string) => groups.find(({ groupId }) => groupId === wanted)?.name ?? wanted;
  // Changes by another operator are shown as soon as they are known; this operator's changes are
  // applied on top of them.
  const changed = token.revision === seen.revision ? [] : differences(seen, token, nameOf);
  return (
    <FormDialog
      title={`Edit ${seen.label}`}
      submitLabel={changed.length > 0 ? 'Apply my changes' : 'Save'}
      busy={busy}
      problem={problem?.kind === 'conflict' && changed.length > 0 ? undefined : problem}
      fields={tokenFieldNames}
      onSubmit={() => run({ ...updateOf(seen, draft, token), expectedRevision: token.revision })}
      onClose={onClose}
    >
      <TokenFields draft={draft} onDraft={setDraft} problem={problem} isNew={false} />
      <ChangedMeanwhile what="token" changes={changed} />
    </FormDialog>
  );
}

/** Rotates a token. The new text is shown once. */
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
      <SecretOnce title={`New token for ${label}`} secret={text} what="token" onClose={onClose}>
        Send it to the holder of the old token.
      </SecretOnce>
    );
  }
  return (
    <FormDialog
      title={`Rotate ${label}?`}
      submitLabel={revision === seen ? 'Rotate token' : 'Rotate anyway'}
      busy={busy}
      problem={problem?.kind === 'conflict' && revision !== seen ? undefined : problem}
      fields={['keepOldSeconds']}
      onSubmit={() => run({ tokenId, keepOldSeconds: Number(keep), expectedRevision: revision })}
      onClose={onClose}
    >
      <p>The token gets a new secret and keeps its id, limits and usage.</p>
      <SelectField
        label="Old secret stays valid"
        value={keep}
        onValue={setKeep}
        problem={problem?.fields.keepOldSeconds}
      >
        <option value="0">not at all (it has leaked)</option>
        <option value={hour}>for 1 hour</option>
        <option value={24 * hour}>for 1 day</option>
        <option value={7 * 24 * hour}>for 7 days</option>
        <option value={30 * 24 * hour}>for 30 days</option>
      </SelectField>
      {revision !== seen && (
        <ProblemNote>
          Another operator changed or rotated this token meanwhile: see the audit log. Rotating again may invalidate the
          secret that they received.
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
        New requests with this token fail with 401. Requests in flight complete. This cannot be undone. Usage history is
        kept.
      </p>
    </FormDialog>
  );
}
