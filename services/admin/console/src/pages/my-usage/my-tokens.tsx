import { useQuery } from '@connectrpc/connect-query';
import { type ListMyTokensResponse, MyTokenService } from '@gateway/proto/admin/v1/my_token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { ChangeDialog, SecretOnce } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { SettingsOfClients } from '../tokens/client-setup.tsx';

type Open = { readonly dialog: 'issue' } | { readonly dialog: 'rotate' | 'revoke'; readonly token: Token };

/** The tokens that the signed-in person has issued, with the settings of each client. */
export function MyTokens() {
  const list = useQuery(MyTokenService.method.listMyTokens, {});
  return (
    <Answer of={list} what="your tokens">
      {(answer) => <Panels {...answer} />}
    </Answer>
  );
}

function Panels({ tokens, rules, models }: ListMyTokensResponse) {
  const [open, setOpen] = useState<Open>();
  const [secret, setSecret] = useState<string>();
  const close = () => setOpen(undefined);
  const done = (tokenText: string) => {
    setSecret(tokenText);
    close();
  };
  const mayIssue = rules?.mayIssue === true;
  if (!mayIssue && tokens.length === 0) return null;
  return (
    <>
      <Panel
        title="My tokens"
        aside={mayIssue && <Button onClick={() => setOpen({ dialog: 'issue' })}>Issue token</Button>}
        wide
      >
        <Table
          caption="Tokens that you have issued, newest first"
          rows={tokens}
          keyOf={({ tokenId }) => tokenId}
          columns={columnsFor(setOpen, mayIssue)}
          empty={<Empty title="No token yet">Issue one for a client that can't sign you in itself.</Empty>}
        />
      </Panel>
      {mayIssue && models !== undefined && (
        <Panel title="Set up a client" wide>
          <SettingsOfClients models={modelsOf(models)} />
        </Panel>
      )}
      {open?.dialog === 'issue' && <Issue maxDays={rules?.maxDays ?? 0} onText={done} onClose={close} />}
      {open?.dialog === 'rotate' && <Rotate token={open.token} onText={done} onClose={close} />}
      {open?.dialog === 'revoke' && <Revoke token={open.token} onClose={close} />}
      {secret !== undefined && (
        <SecretOnce title="Your new token" secret={secret} what="token" onClose={() => setSecret(undefined)}>
          Use it in your clients as <code>GATEWAY_TOKEN</code>. Give it to no one.
        </SecretOnce>
      )}
    </>
  );
}

function modelsOf({ chat, small, messages, responses }: NonNullable<ListMyTokensResponse['models']>) {
  return {
    ...{ chat: chat || undefined, small: small || undefined },
    ...{ messages: messages || undefined, responses: responses || undefined },
  };
}

function columnsFor(open: (open: Open) => void, mayIssue: boolean): readonly Column<Token>[] {
  return [
    { label: 'Label', names: true, render: ({ label }) => label },
    { label: 'Issued', render: ({ createdAtMs }) => <Time at={createdAtMs} /> },
    { label: 'Expires', render: ({ expiresAtMs }) => <Time at={expiresAtMs} /> },
    {
      label: 'Actions',
      labelHidden: true,
      align: 'end',
      render: (token) => (
        <span className="row end">
          {mayIssue && (
            <Button
              kind="quiet"
              aria-label={`Rotate: ${token.label}`}
              onClick={() => open({ dialog: 'rotate', token })}
            >
              Rotate
            </Button>
          )}
          <Button kind="quiet" aria-label={`Revoke: ${token.label}`} onClick={() => open({ dialog: 'revoke', token })}>
            Revoke
          </Button>
        </span>
      ),
    },
  ];
}

interface DialogProps {
  readonly onClose: () => void;
}

/** A dialog that ends with a new secret. */
interface SecretDialogProps extends DialogProps {
  readonly onText: (tokenText: string) => void;
}

function Issue({ maxDays, onText, onClose }: SecretDialogProps & { readonly maxDays: number }) {
  const [label, setLabel] = useState('');
  return (
    <ChangeDialog
      title="Issue a token"
      submitLabel="Issue token"
      method={MyTokenService.method.issueMyToken}
      input={{ label }}
      onDone={({ tokenText }) => onText(tokenText)}
      onClose={onClose}
    >
      <p>The token is yours: its usage counts as your usage. It expires in {maxDays} days.</p>
      <TextField
        label="Label"
        hint="What it is for, such as the machine."
        required
        maxLength={100}
        value={label}
        onValue={setLabel}
      />
    </ChangeDialog>
  );
}

function Rotate({ token, onText, onClose }: SecretDialogProps & { readonly token: Token }) {
  const [keep, setKeep] = useState('3600');
  return (
    <ChangeDialog
      title={`Rotate ${token.label}?`}
      submitLabel="Rotate token"
      method={MyTokenService.method.rotateMyToken}
      input={{ tokenId: token.tokenId, keepOldSeconds: Number(keep) }}
      onDone={({ tokenText }) => onText(tokenText)}
      onClose={onClose}
    >
      <p>The token gets a new secret and keeps its expiry and usage.</p>
      <SelectField label="Old secret stays valid" value={keep} onValue={setKeep}>
        <option value="0">not at all (it has leaked)</option>
        <option value="3600">for 1 hour</option>
        <option value="86400">for 1 day</option>
      </SelectField>
    </ChangeDialog>
  );
}

function Revoke({ token: { tokenId, label }, onClose }: DialogProps & { readonly token: Token }) {
  return (
    <ChangeDialog
      title={`Revoke ${label}?`}
      submitLabel="Revoke token"
      danger
      method={MyTokenService.method.revokeMyToken}
      input={{ tokenId }}
      notice={() => `${label} was revoked.`}
      onClose={onClose}
    >
      <p>New requests with this token fail with 401. This cannot be undone. Usage history is kept.</p>
    </ChangeDialog>
  );
}
