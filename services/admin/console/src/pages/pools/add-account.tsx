import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { type PoolOverview, PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { useState } from 'react';
import { ChangeDialog } from '../../ui/dialog.tsx';
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

const emptyAccount = { pool: '', name: '', models: '', labels: '', maxConcurrency: '' };

/** Adds an account to the database. */
export function AddAccount({ overview: { pools }, pool, onAdded, onClose }: AddAccountProps) {
  const names = pools.map((status) => status.pool?.name ?? '');
  const [draft, setDraft] = useState({ ...emptyAccount, pool: pool || (names[0] ?? '') });
  const kindIn = (name: string) =>
    usualCredentialKind({ format: pools.find((status) => status.pool?.name === name)?.pool?.format });
  const [credential, setCredential] = useState<CredentialDraft>({ ...emptyCredential, kind: kindIn(draft.pool) });
  /** Another pool may expect another kind, unless the operator chose one. */
  const choosePool = (name: string) => {
    setDraft({ ...draft, pool: name });
    if (credential.kind === kindIn(draft.pool)) setCredential({ ...credential, kind: kindIn(name) });
  };
  const { models, labels, maxConcurrency, ...rest } = draft;
  const lists = { models: wordsOf(models), labels: wordsOf(labels) };
  const account = { ...rest, ...lists, maxConcurrency: Number(maxConcurrency || 0) };
  return (
    <ChangeDialog
      title="Add account"
      submitLabel="Add account"
      method={AccountService.method.addAccount}
      input={{ account, credential: credentialOf(credential) }}
      fields={[...Object.keys(draft).map((name) => `account.${name}`), ...credentialFieldNames]}
      alsoRefresh={[PoolService]}
      notice={(answer) => `${answer.account?.id} was added.`}
      onDone={(answer) => {
        onClose();
        if (answer.account !== undefined) onAdded(answer.account.id);
      }}
      onClose={onClose}
    >
      {(problem) => (
        <>
          <AccountFields poolNames={names} field={fieldsOf(draft, setDraft, problem)} onPool={choosePool} />
          <CredentialFields draft={credential} onDraft={setCredential} problem={problem} />
        </>
      )}
    </ChangeDialog>
  );
}

interface AccountFieldsProps {
  readonly poolNames: readonly string[];
  readonly field: ReturnType<typeof fieldsOf<typeof emptyAccount>>;
  readonly onPool: (name: string) => void;
}

function AccountFields({ poolNames, field, onPool }: AccountFieldsProps) {
  return (
    <>
      <SelectField label="Pool" {...field('pool', 'account.pool')} onValue={onPool}>
        {poolNames.map((name) => (
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
    </>
  );
}
