import { useInfiniteQuery } from '@connectrpc/connect-query';
import { formatCompact } from '@gateway/presentation';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type TokenListing, TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useEffect, useState } from 'react';
import { useSigned } from '../../api/session.tsx';
import { useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Page } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Sparkline } from '../../ui/chart.tsx';
import { CheckField, TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { byPages, type Column, More, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { TokenLimits } from './token-limits.tsx';
import { standOfToken } from './token-stand.ts';
import './tokens.css';

/** Tokens with the state of their limits. The filters are in the address. */
export function TokensPage() {
  const { may } = useSigned();
  const [params, setParams] = useSearchParams();
  const search = params.get('q') ?? '';
  const [includeEnded, atLimit] = [params.get('ended') === 'yes', params.get('limit') === 'reached'];
  const [draft, setDraft] = useState(search);
  useEffect(() => setDraft(search), [search]);
  const list = useInfiniteQuery(
    TokenService.method.listTokens,
    { search, includeEnded, atLimit, pageSize: 50, pageToken: '' },
    { ...byPages, refetchInterval: 5_000 },
  );
  const show = ({ q = search, ended = includeEnded, reached = atLimit }) =>
    setParams({ q, ended: ended ? 'yes' : '', limit: reached ? 'reached' : '' });
  return (
    <Page
      title="Tokens"
      about="Who may call the gateway, and with what limits. Limits show current use; days begin at midnight in Amsterdam."
      actions={
        may(Role.OPERATOR) && (
          <Link className="button primary" to="/tokens/new">
            Issue token
          </Link>
        )
      }
    >
      <Form className="filters" aria-label="Filters" onSubmit={() => show({ q: draft.trim() })}>
        <TextField label="Search" type="search" placeholder="label, note or id" value={draft} onValue={setDraft} />
        <Button type="submit">Search</Button>
        <CheckField label="Include revoked and expired" checked={includeEnded} onChecked={(ended) => show({ ended })} />
        <CheckField label="Limit reached" checked={atLimit} onChecked={(reached) => show({ reached })} />
      </Form>
      <section className="panel" aria-label="Tokens">
        <Answer of={list} what="tokens">
          {({ pages }) => (
            <>
              <Table
                caption="Tokens, newest first"
                rows={pages.flatMap(({ tokens }) => tokens)}
                keyOf={({ token }) => token?.tokenId ?? ''}
                columns={allColumns}
                empty={atLimit ? <Empty title="No token has reached a limit" /> : <NoTokens search={search} />}
              />
              <More of={list} />
            </>
          )}
        </Answer>
      </section>
    </Page>
  );
}

function NoTokens({ search }: { readonly search: string }) {
  if (search !== '')
    return (
      <Empty title={`No token matches “${search}”`}>To search all tokens, include revoked and expired ones.</Empty>
    );
  return (
    <Empty title="No tokens yet">
      <Link to="/tokens/new">Issue the first token</Link>: clients need one for every request.
    </Empty>
  );
}

/** Tokens of one group do not repeat its name. */
export const tokenColumns = ({ withGroup }: { readonly withGroup: boolean }): readonly Column<TokenListing>[] => [
  {
    label: 'Token',
    names: true,
    render: ({ token }) => (
      <>
        <Link to={`/tokens/${token?.tokenId}`}>{token?.label}</Link>
        {token?.note && <div className="faint small clipped">{token.note}</div>}
      </>
    ),
  },
  {
    label: withGroup ? 'Kind, group' : 'Kind',
    render: ({ token, groupName }) => (
      <>
        {token?.kind === TokenKind.PERSONAL ? 'personal' : 'service'}
        {withGroup && token !== undefined && token.groupId !== '' && (
          <div className="small">
            <Link to={`/groups/${token.groupId}`}>{groupName || token.groupId}</Link>
          </div>
        )}
      </>
    ),
  },
  {
    label: 'State',
    render: ({ token }) => {
      if (token === undefined) return null;
      const { tone, text, at } = standOfToken(token, Date.now());
      return (
        <>
          <Status tone={tone}>{text}</Status>
          {at !== undefined && (
            <div className="faint small">
              <Time at={at} />
            </div>
          )}
          {token.oldTextValidUntilMs !== undefined && (
            <div className="faint small">
              Old secret valid until <Time at={token.oldTextValidUntilMs} />
            </div>
          )}
        </>
      );
    },
  },
  {
    label: 'Current limits',
    render: ({ token, limits, tokensByDay }) =>
      token && <TokenLimits token={token} status={limits} recordedToday={tokensByDay.at(-1) ?? 0} />,
  },
  {
    label: 'Last 14 days',
    render: ({ tokensByDay }) => {
      const total = tokensByDay.reduce((sum, tokens) => sum + tokens, 0);
      if (total === 0) return <span className="faint">None</span>;
      return (
        <span className="row">
          <Sparkline
            values={tokensByDay}
            label={`Tokens per day over the last ${tokensByDay.length} days, ending today`}
          />
          {formatCompact(total)}
        </span>
      );
    },
  },
  {
    label: 'Issued',
    render: ({ token }) => (
      <span className="nowrap">
        <Time at={token?.createdAtMs} />
      </span>
    ),
  },
];

const allColumns = tokenColumns({ withGroup: true });
