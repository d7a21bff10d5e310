import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AccountCredentialSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { Problem } from '../../api/problem.ts';
import { SelectField, TextField } from '../../ui/field.tsx';
import { fieldsOf } from '../../ui/form.tsx';
import type { CredentialKind } from './account-words.ts';

/** The typed credential of an account. It is sent, and never shown again. */
export interface CredentialDraft {
  readonly kind: CredentialKind;
  readonly secret: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
}

export const emptyCredential: CredentialDraft = {
  kind: 'bearer',
  secret: '',
  tokenUrl: '',
  clientId: '',
  clientSecret: '',
  scopes: '',
};

export function credentialOf({
  kind,
  secret,
  scopes,
  ...client
}: CredentialDraft): MessageInitShape<typeof AccountCredentialSchema> {
  if (kind !== 'oauth') return { credential: { case: kind, value: secret.trim() } };
  const value = {
    ...client,
    refreshToken: secret.trim(),
    scopes: scopes.split(/[\s,]+/).filter((scope) => scope !== ''),
  };
  return { credential: { case: 'oauth', value } };
}

/** Names of these fields in the problems of a request. */
export const credentialFieldNames = [
  'credential',
  'credential.bearer',
  'credential.apiKey',
  ...['tokenUrl', 'clientId', 'clientSecret', 'refreshToken', 'scopes'].map((name) => `credential.oauth.${name}`),
];

interface CredentialFieldsProps {
  readonly draft: CredentialDraft;
  readonly onDraft: (draft: CredentialDraft) => void;
  readonly problem: Problem | undefined;
}

export function CredentialFields({ draft, onDraft, problem }: CredentialFieldsProps) {
  const field = fieldsOf(draft, onDraft, problem);
  const secretName = draft.kind === 'oauth' ? 'oauth.refreshToken' : draft.kind;
  const hidden = { type: 'password', autoComplete: 'off', spellCheck: false } as const;
  return (
    <>
      <SelectField
        label="Credential"
        {...field('kind', 'credential')}
        // Values of one kind of credential do not fit the other.
        onValue={(kind) => onDraft({ ...emptyCredential, kind: kind as CredentialKind })}
      >
        <option value="bearer">Bearer token (Authorization)</option>
        <option value="apiKey">API key (x-api-key)</option>
        <option value="oauth">OAuth refresh token</option>
      </SelectField>
      {draft.kind === 'oauth' && (
        <>
          <TextField label="Token URL" type="url" required {...field('tokenUrl', 'credential.oauth.tokenUrl')} />
          <TextField label="Client id" required {...field('clientId', 'credential.oauth.clientId')} />
          <TextField
            label="Client secret"
            hint="Leave empty if the client has none."
            {...hidden}
            {...field('clientSecret', 'credential.oauth.clientSecret')}
          />
          <TextField label="Scopes" hint="Separated by spaces." {...field('scopes', 'credential.oauth.scopes')} />
        </>
      )}
      <TextField
        label={{ bearer: 'Token', apiKey: 'API key', oauth: 'Refresh token' }[draft.kind]}
        hint="Stored encrypted and never shown again."
        {...hidden}
        required
        {...field('secret', `credential.${secretName}`)}
      />
    </>
  );
}
