import { useQuery } from '@connectrpc/connect-query';
import { formatCompact } from '@gateway/presentation';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type TokenListing, TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useParams } from 'wouter';
import { useSigned } from '../../api/session.tsx';
import { Link } from '../../frame/link.tsx';
import { Fact, Page, Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Chart } from '../../ui/chart.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty, NoAnswer, OutOfDate } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { localDayOf, Time } from '../../ui/time.tsx';
import { requestsLink } from '../requests/request-search.ts';
import { addDays, dayLabel, noonOf } from '../usage/usage-period.ts';
import { AccessFacts } from './access-facts.tsx';
import { ClientSetup } from './client-setup.tsx';
import { limitText } from './terms-draft.ts';
import { EditToken, RevokeToken, RotateToken } from './token-dialogs.tsx';
import { TokenLimits } from './token-limits.tsx';
import { standOfToken } from './token-stand.ts';
import './tokens.css';

/** One token: its settings, the state of its limits, its usage. */
export function TokenPage() {
  const { tokenId = '' } = useParams();
  const { data, error, refetch } = useQuery(
    TokenService.method.getToken,
    { token: tokenId },
    { refetchInterval: 5_000 },
  );
  const listing = data?.token;
  if (listing?.token !== undefined) return <Known listing={listing} token={listing.token} error={error} />;
  return (
    <Page title="Token" about={<Link to="/tokens">All tokens</Link>}>
      <NoAnswer
        of={{ error, refetch }}
        what="the token"
        notFound={
          <Empty title={`No token with the id “${tokenId}”`}>
            <Link to={`/tokens?q=${encodeURIComponent(tokenId)}&ended=yes`}>Search all tokens</Link>
          </Empty>
        }
      />
    </Page>
  );
}

type Asked = 'edit' | 'rotate' | 'revoke';

interface KnownProps {
  readonly listing: TokenListing;
  readonly token: Token;
  /** Why the token could not be refreshed. */
  readonly error: Error | null;
}

function Known({ listing, token, error }: KnownProps) {
  const { may } = useSigned();
  const [asked, setAsked] = useState<Asked>();
  const close = () => setAsked(undefined);
  const { tone, text, at } = standOfToken(token, Date.now());
  const ended = tone === 'neutral';
  const today = localDayOf(Date.now());
  const days = listing.tokensByDay.map((_, index) => addDays(today, index - listing.tokensByDay.length + 1));
  return (
    <Page
      title={token.label}
      about={<Link to="/tokens">All tokens</Link>}
      actions={
        may(Role.OPERATOR) &&
        !ended && (
          <>
            <Button onClick={() => setAsked('edit')}>Edit</Button>
            <Button onClick={() => setAsked('rotate')}>Rotate</Button>
            <Button kind="danger" onClick={() => setAsked('revoke')}>
              Revoke
            </Button>
          </>
        )
      }
    >
      <OutOfDate error={error} />
      <div className="panels">
        <Panel title="Token" aside={<Status tone={tone}>{text}</Status>}>
          <dl className="facts">
            <Fact name="Id">
              <code>{token.tokenId}</code> <CopyButton text={token.tokenId} what="token id" />
            </Fact>
            <Fact name="Kind">{token.kind === TokenKind.PERSONAL ? 'Personal (no limits)' : 'Service'}</Fact>
            <Fact name="Group">
              {token.groupId === '' ? (
                <span className="faint">None</span>
              ) : (
                <Link to={`/groups/${token.groupId}`}>{listing.groupName || token.groupId}</Link>
              )}
            </Fact>
            <AccessFacts access={token.access} />
            <Fact name="Issued">
              <Time at={token.createdAtMs} />
            </Fact>
            <Fact name={token.revokedAtMs === undefined ? 'Expires' : 'Revoked'}>
              {at === undefined ? 'Never' : <Time at={at} />}
            </Fact>
            {token.oldTextValidUntilMs !== undefined && (
              <Fact name="Old secret">
                Valid until <Time at={token.oldTextValidUntilMs} />
              </Fact>
            )}
            <Fact name="Note">{token.note || <span className="faint">None</span>}</Fact>
          </dl>
        </Panel>
        <Panel
          title="Current limits"
          aside={`Requests per minute: ${limitText(token.limits?.requestsPerMinute)} · tokens per day: ${limitText(token.limits?.tokensPerDay)}`}
        >
          <TokenLimits token={token} status={listing.limits} recordedToday={listing.tokensByDay.at(-1) ?? 0} detailed />
        </Panel>
        <Panel
          title="Tokens used"
          aside={
            <>
              <Link to={requestsLink({ token: token.tokenId })}>Requests</Link> ·{' '}
              <Link to={`/usage?token=${token.tokenId}`}>Usage</Link>
            </>
          }
          wide
        >
          <Chart
            label="Tokens by day (Europe/Amsterdam)"
            kind="bars"
            times={days.map(noonOf)}
            series={[{ label: 'Tokens', colour: 'chart-1', values: listing.tokensByDay }]}
            format={formatCompact}
            formatTime={dayLabel}
          />
        </Panel>
        {!ended && (
          <Panel title="Set up a client" wide>
            <ClientSetup />
          </Panel>
        )}
      </div>
      {asked === 'edit' && <EditToken token={token} onClose={close} />}
      {asked === 'rotate' && <RotateToken token={token} onClose={close} />}
      {asked === 'revoke' && <RevokeToken token={token} onClose={close} />}
    </Page>
  );
}
