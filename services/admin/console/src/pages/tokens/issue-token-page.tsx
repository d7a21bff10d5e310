import { type IssueTokenResponse, TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { Page, Panel } from '../../frame/page.tsx';
import { Link } from '../../frame/routing.tsx';
import { Button } from '../../ui/button.tsx';
import { FormProblem } from '../../ui/form-dialog.tsx';
import { ClientSetup } from './client-setup.tsx';
import { NewTokenText } from './new-token-text.tsx';
import { emptyToken, expiryOf, limitsOf, tokenFieldNames } from './token-draft.ts';
import { TokenFields } from './token-fields.tsx';
import './tokens.css';

/** A new token, shown once, with how each client is set up to use it. */
export function IssueTokenPage() {
  const [draft, setDraft] = useState(emptyToken);
  // Forgotten with the page.
  const [issued, setIssued] = useState<IssueTokenResponse>();
  const { run, busy, problem } = useChange(TokenService.method.issueToken, { onDone: setIssued });
  if (issued !== undefined) return <Issued {...issued} />;
  const submit = () => {
    const kind = draft.kind === 'personal' ? TokenKind.PERSONAL : TokenKind.SERVICE;
    run({ kind, label: draft.label, limits: limitsOf(draft), note: draft.note, expiresAt: expiryOf(draft) });
  };
  return (
    <Page title="Issue a token" about={<Link to="/tokens">All tokens</Link>}>
      <form
        className="panel token-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) submit();
        }}
      >
        <TokenFields draft={draft} onDraft={setDraft} problem={problem} isNew />
        <FormProblem problem={problem} fields={tokenFieldNames} />
        <div className="row">
          <Button kind="primary" type="submit" busy={busy}>
            Issue token
          </Button>
        </div>
      </form>
    </Page>
  );
}

function Issued({ token, tokenText }: IssueTokenResponse) {
  return (
    <Page title={`Token for ${token?.label}`} about={<Link to={`/tokens/${token?.tokenId}`}>To the token's page</Link>}>
      <Panel title="The token" wide>
        <NewTokenText text={tokenText} />
      </Panel>
      <Panel title="Set up a client" wide>
        <ClientSetup />
      </Panel>
    </Page>
  );
}
