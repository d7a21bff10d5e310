import { useQuery } from '@connectrpc/connect-query';
import { formatCount } from '@gateway/presentation';
import { MyTokenService } from '@gateway/proto/admin/v1/my_token_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useEffect, useEffectEvent, useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useSigned } from '../../api/session.tsx';
import { Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form, FormProblem } from '../../ui/form.tsx';
import { ProblemNote } from '../../ui/state.tsx';
import { Time } from '../../ui/time.tsx';

/** The token in use. It is only in the memory of the page, and never in an address or a storage. */
export interface HeldToken {
  readonly text: string;
  /** The token, if the page has issued it: then it is revoked when the page no longer needs it. */
  readonly issued: Token | undefined;
}

interface TokenPanelProps {
  readonly held: HeldToken | undefined;
  readonly onHeld: (held: HeldToken | undefined) => void;
  /** Why the token can't be used. Empty: it can. */
  readonly problem: string;
}

/** Which token requests are sent with: one that is issued for the page, or one that is pasted. */
export function TokenPanel({ held, onHeld, problem }: TokenPanelProps) {
  const issue = useIssue((issued, text) => onHeld({ text, issued }));
  useRevocation(held?.issued?.tokenId);
  if (held !== undefined) return <Held held={held} onForget={() => onHeld(undefined)} problem={problem} />;
  return (
    <Panel title="Token">
      <div className="stack">
        {issue.isAllowed && (
          <div className="stack">
            <div className="row">
              <Button kind="primary" busy={issue.busy} onClick={issue.run}>
                Issue a token for this page
              </Button>
            </div>
            <p className="faint small">{issue.terms} It is revoked when you leave the page.</p>
            <FormProblem problem={issue.problem} fields={[]} />
          </div>
        )}
        <Paste isAlone={!issue.isAllowed} onText={(text) => onHeld({ text, issued: undefined })} />
      </div>
    </Panel>
  );
}

interface HeldProps extends Pick<TokenPanelProps, 'problem'> {
  readonly held: HeldToken;
  readonly onForget: () => void;
}

function Held({ held: { text, issued }, onForget, problem }: HeldProps) {
  return (
    <Panel
      title="Token"
      aside={
        <Button kind="quiet" onClick={onForget}>
          {issued === undefined ? 'Use another token' : 'Revoke it'}
        </Button>
      }
    >
      {issued === undefined ? (
        <p>
          Your token <code>{`${text.slice(0, 5)}…`}</code>. The page forgets it when you leave.
        </p>
      ) : (
        <p>
          {issued.label}, until <Time at={issued.expiresAtMs} />. It is revoked when you leave the page.
        </p>
      )}
      {problem !== '' && <ProblemNote>{problem}</ProblemNote>}
    </Panel>
  );
}

function Paste({ isAlone, onText }: { readonly isAlone: boolean; readonly onText: (text: string) => void }) {
  const [text, setText] = useState('');
  return (
    <Form className="stack" onSubmit={() => onText(text.trim())}>
      <TextField
        label={isAlone ? 'Your token' : 'Or a token that you have'}
        hint="A client's token (gw_s_… or gw_p_…). It stays in the memory of this page."
        type="password"
        autoComplete="off"
        spellCheck={false}
        required
        maxLength={512}
        value={text}
        onValue={setText}
      />
      <div className="row">
        <Button type="submit" kind={isAlone ? 'primary' : 'plain'}>
          Use token
        </Button>
      </div>
    </Form>
  );
}

/** Issues a token for an hour. People get one of their own, operators a service token. */
function useIssue(onIssued: (token: Token | undefined, text: string) => void) {
  const { may, name, session } = useSigned();
  const isPerson = session.holder.case === 'person';
  const { data } = useQuery(MyTokenService.method.listMyTokens, {}, { enabled: isPerson });
  const onDone = ({ token, tokenText }: { readonly token?: Token | undefined; readonly tokenText: string }) =>
    onIssued(token, tokenText);
  const ofGateway = useChange(TokenService.method.issueToken, { onDone });
  const own = useChange(MyTokenService.method.issueMyToken, { onDone });
  const endOf = () => Date.now() + hourMs;
  const label = `playground of ${name}`.slice(0, 100);
  if (isPerson) {
    const isAllowed = data?.rules?.mayIssue === true;
    return {
      ...own,
      isAllowed,
      terms: 'It is yours and valid for an hour: its usage counts as your usage.',
      run: () => own.run({ label: 'playground', expiresAtMs: endOf() }),
    };
  }
  return {
    ...ofGateway,
    isAllowed: may(Role.OPERATOR),
    terms: `It is valid for an hour, for 60 requests per minute and ${formatCount(limits.tokensPerDay)} tokens per day.`,
    run: () => ofGateway.run({ kind: TokenKind.SERVICE, label, limits, expiresAtMs: endOf() }),
  };
}

const hourMs = 3_600_000;
const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000 };

/** Revokes an issued token when the page is left, or uses another one. */
function useRevocation(tokenId: string | undefined) {
  const isPerson = useSigned().session.holder.case === 'person';
  const ofGateway = useChange(TokenService.method.revokeToken);
  const own = useChange(MyTokenService.method.revokeMyToken);
  const revoke = useEffectEvent((revoked: string) => (isPerson ? own : ofGateway).run({ tokenId: revoked }));
  useEffect(() => {
    if (tokenId === undefined) return;
    return () => revoke(tokenId);
  }, [tokenId]);
}
