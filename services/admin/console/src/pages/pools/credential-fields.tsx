import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AccountCredentialSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { Problem } from '../../api/problem.ts';
import { SelectField, TextField } from '../../ui/field.tsx';

/** What an account authenticates with, as it is typed. It is sent, and never shown again. */
export interface CredentialDraft {
  readonly kind: 'bearer' | 'apiKey' | 'oauth';
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
  const set = (name: keyof CredentialDraft) => (value: string) => onDraft({ ...draft, [name]: value });
  const at = (name: string) => problem?.fields[`credential.${name}`];
  const oauth = (name: string) => at(`oauth.${name}`);
  const hidden = { type: 'password', autoComplete: 'off', spellCheck: false } as const;
  return (
    <>
      <SelectField
        label="Credential"
        value={draft.kind}
        problem={problem?.fields.credential}
        // What was typed for one kind is none of the other's.
        onValue={(kind) => onDraft({ ...emptyCredential, kind: kind as CredentialDraft['kind'] })}
      >
        <option value="bearer">Bearer token (Authorization)</option>
        <option value="apiKey">API key (x-api-key)</option>
        <option value="oauth">OAuth refresh token</option>
      </SelectField>
      {draft.kind === 'oauth' && (
        <>
          <TextField
            label="Token URL"
            type="url"
            required
            value={draft.tokenUrl}
            onValue={set('tokenUrl')}
            problem={oauth('tokenUrl')}
          />
          <TextField
            label="Client id"
            required
            value={draft.clientId}
            onValue={set('clientId')}
            problem={oauth('clientId')}
          />
          <TextField
            label="Client secret"
            hint="Leave it empty when the client has none."
            {...hidden}
            value={draft.clientSecret}
            onValue={set('clientSecret')}
            problem={oauth('clientSecret')}
          />
          <TextField
            label="Scopes"
            hint="Between spaces."
            value={draft.scopes}
            onValue={set('scopes')}
            problem={oauth('scopes')}
          />
        </>
      )}
      <TextField
        label={{ bearer: 'Token', apiKey: 'API key', oauth: 'Refresh token' }[draft.kind]}
        hint="It is kept encrypted, and is never shown again."
        {...hidden}
        required
        value={draft.secret}
        onValue={set('secret')}
        problem={draft.kind === 'oauth' ? oauth('refreshToken') : at(draft.kind)}
      />
    </>
  );
}
