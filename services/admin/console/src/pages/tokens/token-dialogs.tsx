import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { ChangeDialog, SecretOnce } from '../../ui/dialog.tsx';
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
  const groups = useGroups();
  const nameOf = (wanted: string) => groups.find(({ groupId }) => groupId === wanted)?.name ?? wanted;
  // Changes by another operator are shown as soon as they are known; this operator's changes are
  // applied on top of them.
  const changed = token.revision === seen.revision ? [] : differences(seen, token, nameOf);
  return (
    <ChangeDialog
      title={`Edit ${seen.label}`}
      submitLabel={changed.length > 0 ? 'Apply my changes' : 'Save'}
      method={TokenService.method.updateToken}
      input={{ ...updateOf(seen, draft, token), expectedRevision: token.revision }}
      fields={tokenFieldNames}
      explainsConflict={changed.length > 0}
      alsoRefresh={[GroupService]}
      notice={({ token: updated }) => `${updated?.label} was updated.`}
      onClose={onClose}
    >
      {(problem) => (
        <>
          <TokenFields draft={draft} onDraft={setDraft} problem={problem} isNew={false} />
          <ChangedMeanwhile what="token" changes={changed} />
        </>
      )}
    </ChangeDialog>
  );
}

/** Rotates a token. The new text is shown once. */
export function RotateToken({ token, onClose }: TokenProps) {
  const { tokenId, label, revision } = token;
  const [seen] = useState(revision);
  const [keep, setKeep] = useState(String(hour));
  const [text, setText] = useState<string>();
  if (text !== undefined) {
    return (
      <SecretOnce title={`New token for ${label}`} secret={text} what="token" onClose={onClose}>
        Send it to the holder of the old token.
      </SecretOnce>
    );
  }
  return (
    <ChangeDialog
      title={`Rotate ${label}?`}
      submitLabel={revision === seen ? 'Rotate token' : 'Rotate anyway'}
      method={TokenService.method.rotateToken}
      input={{ tokenId, keepOldSeconds: Number(keep), expectedRevision: revision }}
      explainsConflict={revision !== seen}
      onDone={({ tokenText }) => setText(tokenText)}
      onClose={onClose}
    >
      <p>The token gets a new secret and keeps its id, limits and usage.</p>
      <SelectField label="Old secret stays valid" value={keep} onValue={setKeep}>
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
    </ChangeDialog>
  );
}

const hour = 3600;

export function RevokeToken({ token: { tokenId, label }, onClose }: TokenProps) {
  return (
    <ChangeDialog
      title={`Revoke ${label}?`}
      submitLabel="Revoke token"
      danger
      method={TokenService.method.revokeToken}
      input={{ tokenId }}
      notice={() => `${label} was revoked.`}
      onClose={onClose}
    >
      <p>
        New requests with this token fail with 401. Requests in flight complete. This cannot be undone. Usage history is
        kept.
      </p>
    </ChangeDialog>
  );
}
