import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import type { Account } from '@gateway/proto/pool/v1/account_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { useNotify } from '../../ui/notice.tsx';
import { CredentialFields, credentialFieldNames, credentialOf, emptyCredential } from './credential-fields.tsx';

/** Another secret for an account of the database. */
export function ReplaceCredential({
  account: { id },
  onClose,
}: {
  readonly account: Account;
  readonly onClose: () => void;
}) {
  const notify = useNotify();
  const [draft, setDraft] = useState(emptyCredential);
  const { run, busy, problem } = useChange(AccountService.method.replaceCredential, {
    alsoRefresh: [PoolService],
    onDone: () => {
      notify(`${id} has another credential.`);
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Replace the credential of ${id}`}
      submitLabel="Replace credential"
      busy={busy}
      problem={problem}
      fields={credentialFieldNames}
      onSubmit={() => run({ accountId: id, credential: credentialOf(draft) })}
      onClose={onClose}
    >
      <p>The old one is forgotten. What kept the account out of service because of it is forgotten, too.</p>
      <CredentialFields draft={draft} onDraft={setDraft} problem={problem} />
    </FormDialog>
  );
}
