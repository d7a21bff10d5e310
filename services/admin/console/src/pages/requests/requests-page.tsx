import { useInfiniteQuery } from '@connectrpc/connect-query';
import { formatCompact, formatCount, formatCountOf, rejectingLimitText, usedBy } from '@gateway/presentation';
import { type RequestListing, RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { useEffect, useMemo, useState } from 'react';
import { useLive } from '../../api/live.ts';
import { problemOf } from '../../api/problem.ts';
import { useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Page } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { ExportLinks } from '../../ui/export-links.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { byPages, type Column, More, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { InFlightNote } from './in-flight-note.tsx';
import { type LiveList, listWith, mergeNewest, mostAtOnce } from './live-list.ts';
import { RequestFilterForm } from './request-filter-form.tsx';
import { exportLink, filtersOf, requestsLink, searchOf } from './request-search.ts';
import { durationText, endingOf } from './request-words.ts';
import './requests.css';

/**
 * The request log: live requests at the top, older ones by pages. The filters are in the address.
 */
export function RequestsPage() {
  const [params] = useSearchParams();
  const [paused, setPaused] = useState(false);
  const filters = filtersOf(params);
  const search = searchOf(filters);
  // The range is in the past, so requests that end from now on can't match.
  const isPast = filters.until !== '';
  const list = useInfiniteQuery(
    RequestService.method.listRequests,
    { search, token: filters.token, pageSize: 50, pageToken: '' },
    { ...byPages, staleTime: 0 },
  );
  const live = useLive(RequestService.method.watchRequests, { search, token: filters.token, mostAtOnce }, listWith, {
    silentAfterSeconds: 30,
    paused: paused || isPast,
  });
  const { refetch } = list;
  const isLive = live.connection.state === 'live' && !paused && !isPast;
  // Requests that ended before the stream began, or while it was lost, are in the list.
  useEffect(() => {
    if (isLive) void refetch();
  }, [isLive, refetch]);
  const rows = useMemo(
    () => mergeNewest(live.data?.newest ?? [], list.data?.pages.flatMap(({ requests }) => requests) ?? []),
    [live.data, list.data],
  );
  return (
    <Page
      title="Requests"
      about="Requests to models: how each was routed and how it ended. Prompts and answers are never stored."
      actions={
        !isPast && (
          <Button aria-pressed={paused} onClick={() => setPaused(!paused)}>
            {paused ? 'Resume' : 'Pause'}
          </Button>
        )
      }
    >
      <RequestFilterForm filters={filters} problem={list.error === null ? undefined : problemOf(list.error)} />
      <section className="panel" aria-label="Requests">
        <Answer of={{ ...list, data: list.data ?? (rows.length > 0 ? {} : undefined) }} what="requests">
          {() => (
            <>
              {!isPast && <InFlightNote />}
              <LiveNote paused={paused} isPast={isPast} list={live.data} />
              <Table
                caption="Requests, newest first"
                rows={rows}
                keyOf={idOf}
                columns={columns}
                empty={<NoRequests filtered={params.size > 0} />}
              />
              <More of={list} />
              <p className="export faint">
                Export all matches as <ExportLinks to={(format) => exportLink(filters, format)} />
              </p>
            </>
          )}
        </Answer>
      </section>
    </Page>
  );
}

function idOf({ request }: RequestListing): string {
  return request?.requestId ?? '';
}

function LiveNote({
  paused,
  isPast,
  list,
}: {
  readonly paused: boolean;
  readonly isPast: boolean;
  readonly list: LiveList | undefined;
}) {
  if (isPast) return <p className="live-note">Past time range: the list does not update.</p>;
  if (paused) return <p className="live-note">Paused. Requests that end meanwhile appear when you resume.</p>;
  if (list === undefined || list.leftOut === 0) return null;
  return (
    <p className="live-note">
      Too many requests to show live: {formatCount(list.leftOut)} left out. Narrow the filters, or load older pages to
      see them.
    </p>
  );
}

function NoRequests({ filtered }: { readonly filtered: boolean }) {
  if (filtered) {
    return (
      <Empty title="No matching requests">
        <Link to="/requests">Show all requests</Link>
      </Empty>
    );
  }
  return (
    <Empty title="No requests yet">
      <Link to="/tokens/new">Issue a token</Link> and send the first request. The log keeps requests for a limited
      number of days.
    </Empty>
  );
}

const columns: readonly Column<RequestListing>[] = [
  {
    label: 'Received',
    names: true,
    line: 'first',
    render: ({ request }) => (
      <Link className="nowrap" to={`/requests/${request?.requestId}`}>
        <Time at={request?.receivedAtMs} />
      </Link>
    ),
  },
  {
    label: 'Ending',
    line: 'first',
    render: ({ request }) => {
      if (request === undefined) return null;
      const { tone, text } = endingOf(request);
      return (
        <span className="ending-cell">
          <Status tone={tone}>{text}</Status>
          {request.errorCode !== '' && <code className="small">{request.errorCode}</code>}
          {rejectingLimitText(request) !== '' && <span className="faint small">{rejectingLimitText(request)}</span>}
        </span>
      );
    },
  },
  {
    label: 'Token',
    line: 'second',
    render: ({ request, tokenLabel }) => (
      <Link to={requestsLink({ token: request?.tokenId ?? '' })}>{tokenLabel || request?.tokenId.slice(0, 8)}</Link>
    ),
  },
  {
    label: 'Model',
    line: 'second',
    render: ({ request }) => (
      <>
        <div className="clipped model">{request?.model || <span className="faint">Unknown</span>}</div>
        <div className="faint small endpoint">{request?.endpoint.replace(/^\/v1\//, '')}</div>
      </>
    ),
  },
  {
    label: 'Accounts',
    render: ({ request }) => {
      if (request === undefined || request.attempts.length === 0) return <span className="faint">none</span>;
      const [last, before] = [request.attempts.at(-1)?.accountId, request.attempts.length - 1];
      return (
        <>
          {last}
          {before > 0 && <span className="faint"> after {formatCountOf(before, 'other')}</span>}
        </>
      );
    },
  },
  {
    label: 'First token',
    align: 'end',
    render: ({ request }) => (
      <span className={request?.slow ? 'slow' : undefined}>{durationOrDash(request?.times?.firstByte)}</span>
    ),
  },
  {
    label: 'Duration',
    align: 'end',
    line: 'first',
    render: ({ request }) => durationOrDash(request?.times?.ended),
  },
  {
    label: 'Tokens in / out',
    align: 'end',
    line: 'second',
    render: ({ request }) => {
      const usage = request && usedBy(request)?.usage;
      return usage === undefined ? '–' : `${formatCompact(usage.inputTokens)} / ${formatCompact(usage.outputTokens)}`;
    },
  },
];

function durationOrDash(ms: number | undefined): string {
  return ms === undefined ? '–' : durationText(ms);
}
