import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { type PoolOverview, PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { fieldsOf } from '../../ui/form.tsx';
import { wordsOf } from '../tokens/terms-draft.ts';
import { usualCredentialKind } from './account-words.ts';
import {
  type CredentialDraft,
  CredentialFields,
  credentialFieldNames,
  credentialOf,
  emptyCredential,
} from './credential-fields.tsx';

interface AddAccountProps {
  readonly overview: PoolOverview;
  /** The pool of the page. Empty: all pools. */
  readonly pool: string;
  readonly onAdded: (accountId: string) => void;
  readonly onClose: () => void;
}

/** Adds an account to the database. */
export function AddAccount({ overview: { pools }, pool, onAdded, onClose }: AddAccountProps) {
  const names = pools.map((status) => status.pool?.name ?? '');
  const [draft, setDraft] = useState({
    ...{ pool: pool || (names[0] ?? ''), name: '' },
    ...{ models: '', labels: '', maxConcurrency: '' },
  });
  const kindIn = (name: string) =>
    usualCredentialKind({ format: pools.find((status) => status.pool?.name === name)?.pool?.format });
  const [credential, setCredential] = useState<CredentialDraft>({ ...emptyCredential, kind: kindIn(draft.pool) });
  const { run, busy, problem } = useChange(AccountService.method.addAccount, {
    alsoRefresh: [PoolService],
    notice: ({ account }) => `${account?.id} was added.`,
    onDone: ({ account }) => {
      onClose();
      if (account !== undefined) onAdded(account.id);
    },
  });
  const field = fieldsOf(draft, setDraft, problem);
  /** Another pool may expect another kind, unless the operator chose one. */
  const choosePool = (name: string) => {
    setDraft({ ...draft, pool: name });
    if (credential.kind === kindIn(draft.pool)) setCredential({ ...credential, kind: kindIn(name) });
  };
  const submit = () => {
    const { models, labels, maxConcurrency, ...rest } = draft;
    const account = {
      ...rest,
      models: wordsOf(models),
      labels: wordsOf(labels),
      maxConcurrency: Number(maxConcurrency || 0),
    };
    run({ account, credential: credentialOf(credential) });
  };
  return (
    <FormDialog
      title="Add account"
      submitLabel="Add account"
      busy={busy}
      problem={problem}
      fields={[...Object.keys(draft).map((name) => `account.${name}`), ...credentialFieldNames]}
      onSubmit={submit}
      onClose={onClose}
    >
      <SelectField label="Pool" {...field('pool', 'account.pool')} onValue={choosePool}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      <TextField
        label="Name"
        hint="Letters, digits, “-”, “_” and “.”. Unique within the pool. Visible to operators only."
        required
        pattern="[A-Za-z0-9_.\-]+"
        autoComplete="off"
        {...field('name', 'account.name')}
      />
      <TextField
        label="Models"
        hint="Model ids that the account may serve, separated by spaces; “*” matches any text. Empty: all models of the pool."
        {...field('models', 'account.models')}
      />
      <TextField
        label="Labels"
        hint="Separated by spaces. Groups and tokens can be restricted to accounts with certain labels."
        {...field('labels', 'account.labels')}
      />
      <TextField
        label="Max concurrent requests"
        hint="Empty: unlimited."
        type="number"
        min={1}
        max={4294967295}
        {...field('maxConcurrency', 'account.maxConcurrency')}
      />
      <CredentialFields draft={credential} onDraft={setCredential} problem={problem} />
    </FormDialog>
  );
}
