import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { type Account, AccountUse } from '@gateway/proto/pool/v1/account_pb.js';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { ChangeDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/state.tsx';
import { wordsOf } from '../tokens/terms-draft.ts';
import { CheckOutcome, useAccountCheck } from './account-check.tsx';
import { changesOf, cooldownText, isPausedAfterRefusal, useWords, usualCredentialKind } from './account-words.ts';
import {
  type CredentialDraft,
  CredentialFields,
  credentialFieldNames,
  credentialOf,
  emptyCredential,
} from './credential-fields.tsx';

type Asked =
  | { readonly kind: 'use'; readonly use: AccountUse; readonly seen: AccountUse }
  | { readonly kind: 'credential' | 'labels' | 'remove' };

/** The actions on an account. Those that change it ask for confirmation. */
export function AccountActions({ account }: { readonly account: Account }) {
  const [asked, setAsked] = useState<Asked>();
  const close = () => setAsked(undefined);
  const check = useAccountCheck();
  return (
    <div className="account-actions">
      <Button
        kind="quiet"
        aria-label={`Check now: ${account.id}`}
        title="Asks the provider for its model list, free of charge"
        busy={check.busy}
        onClick={() => check.check(account.id)}
      >
        Check now
      </Button>
      {changesOf(account).map((use) => (
        <Button
          key={use}
          kind="quiet"
          aria-label={`${verbs[use]} ${account.id}`}
          onClick={() => setAsked({ kind: 'use', use, seen: account.use })}
        >
          {verbs[use]}
        </Button>
      ))}
      {account.stored && (
        <>
          <Button
            kind="quiet"
            aria-label={`Replace credential of ${account.id}`}
            onClick={() => setAsked({ kind: 'credential' })}
          >
            Credential
          </Button>
          <Button kind="quiet" aria-label={`Labels of ${account.id}`} onClick={() => setAsked({ kind: 'labels' })}>
            Labels
          </Button>
          <Button kind="quiet" aria-label={`Remove ${account.id}`} onClick={() => setAsked({ kind: 'remove' })}>
            Remove
          </Button>
        </>
      )}
      <CheckOutcome check={check}>
        {isPausedAfterRefusal(account) && 'The account pauses until you enable it, or the gateway asks again.'}
      </CheckOutcome>
      {asked?.kind === 'use' && <ConfirmUse account={account} use={asked.use} seen={asked.seen} onClose={close} />}
      {asked?.kind === 'credential' && <ReplaceCredential account={account} onClose={close} />}
      {asked?.kind === 'labels' && <SetLabels account={account} onClose={close} />}
      {asked?.kind === 'remove' && <ConfirmRemove account={account} onClose={close} />}
    </div>
  );
}

const verbs: Readonly<Record<AccountUse, string>> = {
  [AccountUse.UNSPECIFIED]: 'Leave',
  [AccountUse.ACTIVE]: 'Enable',
  [AccountUse.DRAINING]: 'Drain',
  [AccountUse.DISABLED]: 'Disable',
};

interface AccountProps {
  /** The current state, which may change while the dialog is open. */
  readonly account: Account;
  readonly onClose: () => void;
}

interface ConfirmUseProps extends AccountProps {
  readonly use: AccountUse;
  /** The state that the operator saw when opening the dialog. */
  readonly seen: AccountUse;
}

function ConfirmUse({ account, use, seen, onClose }: ConfirmUseProps) {
  const { id, inFlight } = account;
  const changed = account.use !== seen && account.use !== use;
  return (
    <ChangeDialog
      title={`${verbs[use]} ${id}?`}
      submitLabel={changed ? `${verbs[use]} anyway` : `${verbs[use]} account`}
      danger={use === AccountUse.DISABLED}
      method={AccountService.method.setAccountState}
      input={{ accountId: id, use, expectedUse: account.use }}
      explainsConflict={changed}
      alsoRefresh={[PoolService]}
      notice={() => `${id} is now ${useWords[use]}.`}
      onClose={onClose}
    >
      <p>{consequences[use]}</p>
      {use === AccountUse.ACTIVE && account.cooldowns.length > 0 && (
        <>
          <p>
            These pauses end. If a cause lasts, the provider refuses the next request, and the account pauses again.
          </p>
          <ul>
            {account.cooldowns.map((cooldown) => (
              <li key={`${cooldown.reason} ${cooldown.model} ${cooldown.feature}`}>{cooldownText(cooldown)}</li>
            ))}
          </ul>
        </>
      )}
      {inFlight > 0 && use !== AccountUse.ACTIVE && <p>Requests in flight: {inFlight}. They are not interrupted.</p>}
      {account.source === 'gateway.yaml' && (
        <p>
          This account is defined in gateway.yaml. The next change of its state in that file overrides this setting.
        </p>
      )}
      {changed && (
        <ProblemNote>Another operator changed this account meanwhile: it is now {useWords[account.use]}.</ProblemNote>
      )}
    </ChangeDialog>
  );
}

const consequences: Readonly<Record<AccountUse, string>> = {
  [AccountUse.UNSPECIFIED]: '',
  [AccountUse.ACTIVE]: 'The account takes requests again immediately. Recorded provider errors are cleared.',
  [AccountUse.DRAINING]: 'The account completes its requests in flight and takes no new ones until you enable it.',
  [AccountUse.DISABLED]:
    'The gateway neither sends requests with this account nor reads its model list until you enable it.',
};

/** Replaces the secret of an account of the database. */
function ReplaceCredential({ account: { id, credentialKind }, onClose }: AccountProps) {
  const [draft, setDraft] = useState<CredentialDraft>({
    ...emptyCredential,
    kind: usualCredentialKind({ credentialKind }),
  });
  return (
    <ChangeDialog
      title={`Replace credential of ${id}`}
      submitLabel="Replace credential"
      method={AccountService.method.replaceCredential}
      input={{ accountId: id, credential: credentialOf(draft) }}
      fields={credentialFieldNames}
      alsoRefresh={[PoolService]}
      notice={() => `Credential of ${id} replaced.`}
      onClose={onClose}
    >
      {(problem) => (
        <>
          <p>The gateway deletes the old credential and clears the errors that it caused.</p>
          <CredentialFields draft={draft} onDraft={setDraft} problem={problem} />
        </>
      )}
    </ChangeDialog>
  );
}

/** Replaces the labels of an account of the database. */
function SetLabels({ account: { id, labels }, onClose }: AccountProps) {
  const [text, setText] = useState(labels.join(' '));
  return (
    <ChangeDialog
      title={`Labels of ${id}`}
      submitLabel="Save labels"
      method={AccountService.method.setAccountLabels}
      input={{ accountId: id, labels: wordsOf(text) }}
      fields={['labels']}
      alsoRefresh={[PoolService]}
      notice={() => `Labels of ${id} changed.`}
      onClose={onClose}
    >
      {(problem) => (
        <TextField
          label="Labels"
          hint="Separated by spaces. Groups and tokens can be restricted to accounts with certain labels."
          autoComplete="off"
          value={text}
          onValue={setText}
          problem={problem?.fields.labels}
        />
      )}
    </ChangeDialog>
  );
}

function ConfirmRemove({ account: { id, inFlight }, onClose }: AccountProps) {
  return (
    <ChangeDialog
      title={`Remove ${id}?`}
      submitLabel="Remove account"
      danger
      method={AccountService.method.removeAccount}
      input={{ accountId: id }}
      alsoRefresh={[PoolService]}
      notice={() => `${id} was removed.`}
      onClose={onClose}
    >
      <p>The gateway deletes the account and its credential. This cannot be undone. Its usage stays in the ledger.</p>
      {inFlight > 0 && <p>Requests in flight: {inFlight}. They are not interrupted.</p>}
    </ChangeDialog>
  );
}
