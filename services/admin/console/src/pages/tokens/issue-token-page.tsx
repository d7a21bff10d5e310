import { exportLine } from '@gateway/presentation';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { type IssueTokenResponse, TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Page, Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Form, FormProblem } from '../../ui/form.tsx';
import { ClientSetup } from './client-setup.tsx';
import { accessOf } from './terms-draft.ts';
import { emptyToken, expiryOf, tokenFieldNames, tokenLimitsOf } from './token-draft.ts';
import { TokenFields } from './token-fields.tsx';
import './tokens.css';

/** A new token, shown once, with the settings of each client. */
export function IssueTokenPage() {
  const [params] = useSearchParams();
  const [draft, setDraft] = useState(() => ({ ...emptyToken, groupId: params.get('group') ?? '' }));
  // The page forgets the token when it is left.
  const [issued, setIssued] = useState<IssueTokenResponse>();
  const { run, busy, problem } = useChange(TokenService.method.issueToken, {
    alsoRefresh: [GroupService],
    onDone: setIssued,
  });
  if (issued !== undefined) return <Issued {...issued} />;
  const submit = () => {
    const kind = draft.kind === 'personal' ? TokenKind.PERSONAL : TokenKind.SERVICE;
    const { label, groupId, note } = draft;
    const terms = { limits: tokenLimitsOf(draft), access: accessOf(draft) };
    run({ kind, label, groupId, note, ...terms, expiresAtMs: expiryOf(draft) });
  };
  return (
    <Page title="Issue token" about={<Link to="/tokens">All tokens</Link>}>
      <Form className="panel token-form" busy={busy} onSubmit={submit}>
        <TokenFields draft={draft} onDraft={setDraft} problem={problem} isNew />
        <FormProblem problem={problem} fields={tokenFieldNames} />
        <div className="row">
          <Button kind="primary" type="submit" busy={busy}>
            Issue token
          </Button>
        </div>
      </Form>
    </Page>
  );
}

function Issued({ token, tokenText, labelIsInUse }: IssueTokenResponse) {
  return (
    <Page title={`Token for ${token?.label}`} about={<Link to={`/tokens/${token?.tokenId}`}>Token details</Link>}>
      <Panel title="Token" wide>
        <NewTokenText text={tokenText} />
        {labelIsInUse && (
          <p role="status">
            Another valid token has the label {token?.label}. To tell them apart, rename this one under{' '}
            <Link to={`/tokens/${token?.tokenId}`}>Token details</Link>.
          </p>
        )}
      </Panel>
      <Panel title="Set up a client" wide>
        <ClientSetup />
      </Panel>
    </Page>
  );
}

/** A token's secret, which is shown only here. */
function NewTokenText({ text }: { readonly text: string }) {
  const line = exportLine(text);
  return (
    <div className="stack">
      <p>
        <strong>Copy it now; you won't see it again.</strong> Store it where its holder can find it before you leave
        this page.
      </p>
      <p className="secret">
        <code>{text}</code>
        <CopyButton text={text} what="token" />
      </p>
      <p>For a shell, and for the client settings below:</p>
      <p className="secret">
        <code>{line}</code>
        <CopyButton text={line} what="line" />
      </p>
    </div>
  );
}
