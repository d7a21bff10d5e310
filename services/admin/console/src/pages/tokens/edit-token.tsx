import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { useNotify } from '../../ui/notice.tsx';
import { differences, draftOf, tokenFieldNames, updateOf } from './token-draft.ts';
import { TokenFields } from './token-fields.tsx';

/** @param token as it is now: it may change while it is edited. */
export function EditToken({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const notify = useNotify();
  const [seen] = useState(token);
  const [draft, setDraft] = useState(() => draftOf(seen));
  const { run, busy, problem } = useChange(TokenService.method.updateToken, {
    onDone: ({ token: updated }) => {
      notify(`${updated?.label} was changed.`);
      onClose();
    },
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
