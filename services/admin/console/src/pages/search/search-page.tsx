import { Code, ConnectError } from '@connectrpc/connect';
import { useQuery } from '@connectrpc/connect-query';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { Redirect } from 'wouter';
import { problemOf } from '../../api/problem.ts';
import { useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Page } from '../../frame/page.tsx';
import { Empty, Failure, Loading } from '../../ui/state.tsx';
import { useRequest } from '../requests/use-request.ts';
import { type Hit, hitsInPool } from './hits.ts';

/** Finds objects by an id, the beginning of one, or a label. Opens a single hit at once. */
export function SearchPage() {
  const [parameters] = useSearchParams();
  const text = (parameters.get('q') ?? '').trim();
  const request = useRequest(text);
  const tokens = useQuery(TokenService.method.listTokens, { search: text, includeEnded: true, pageSize: 20 });
  const pools = useQuery(PoolService.method.listPools, {});
  const asked = [request, tokens, pools];
  const found = request.data?.request?.request;
  const hits: readonly Hit[] = [
    ...(found === undefined
      ? []
      : [{ to: `/requests/${encodeURIComponent(found.requestId)}`, kind: 'Request', name: found.requestId }]),
    ...(tokens.data?.tokens ?? []).flatMap(({ token }) =>
      token === undefined ? [] : [{ to: `/tokens/${token.tokenId}`, kind: 'Token', name: token.label }],
    ),
    ...(pools.data?.overview?.pools ?? []).flatMap((each) => hitsInPool(each.pool?.name ?? '', each.accounts, text)),
  ];
  const [only] = hits;
  const waiting = asked.some(({ isPending }) => isPending);
  // An unknown id is an answer, not an error.
  const noHit = [Code.NotFound, Code.InvalidArgument];
  const failed = asked.find(({ error }) => error !== null && !noHit.includes(ConnectError.from(error).code));
  if (!waiting && hits.length === 1 && only !== undefined && failed === undefined)
    return <Redirect to={only.to} replace />;
  return (
    <Page title={`Search for “${text}”`}>
      {waiting && <Loading what="search results" />}
      {failed?.error && <Failure problem={problemOf(failed.error)} onRetry={() => failed.refetch()} />}
      {hits.length > 0 && (
        <ul className="panel stack">
          {hits.map(({ to, kind, name }) => (
            <li key={to} className="hit">
              <span className="faint">{kind}</span>
              <Link to={to}>{name}</Link>
            </li>
          ))}
        </ul>
      )}
      {!waiting && hits.length === 0 && failed === undefined && (
        <Empty title="No results">
          Enter a request id (the x-request-id header, or chatcmpl-…), a token's label or the beginning of its id, or
          any part of the name of an account or pool. The request log keeps requests for a limited number of days.
        </Empty>
      )}
    </Page>
  );
}
