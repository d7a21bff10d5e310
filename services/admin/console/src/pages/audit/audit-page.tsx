import { useInfiniteQuery } from '@connectrpc/connect-query';
import { changesBetween } from '@gateway/presentation';
import { type AuditEntry, AuditOutcome, AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { accountLink, useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Page, Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status, type Tone } from '../../ui/status.tsx';
import { byPages, type Column, More, Table } from '../../ui/table.tsx';
import { Time, withLocalTimes } from '../../ui/time.tsx';

/** The audit log of changes and refusals. The filters are in the address. */
export function AuditPage() {
  const [filters, setFilters] = useSearchParams();
  const given = (name: string) => filters.get(name) ?? '';
  const entries = useInfiniteQuery(
    AuditService.method.listAudit,
    { search: given('search'), sinceMs: momentOf(given('since')), untilMs: momentOf(given('until')), pageToken: '' },
    {
      ...byPages,
      // Pages would shift if new rows came while they are read.
      refetchInterval: ({ state }) => (state.data?.pages.length === 1 ? 10_000 : false),
    },
  );
  const filter = (form: FormData) =>
    setFilters(
      Object.fromEntries(['search', 'since', 'until'].map((name) => [name, String(form.get(name) ?? '').trim()])),
    );
  return (
    <Page title="Audit" about="All changes and rejected calls, newest first.">
      <search>
        <form className="filters" key={filters.toString()} action={filter}>
          <TextField
            label="Actor, action, subject or label"
            name="search"
            type="search"
            defaultValue={given('search')}
          />
          <TextField label="From" name="since" type="datetime-local" defaultValue={given('since')} />
          <TextField label="Until" name="until" type="datetime-local" defaultValue={given('until')} />
          <Button type="submit">Search</Button>
          {filters.size > 0 && (
            <Button kind="quiet" onClick={() => setFilters({})}>
              Show all
            </Button>
          )}
        </form>
      </search>
      <Answer of={entries} what="the audit log">
        {({ pages }) => (
          <Panel title="Changes and rejected calls">
            <Table
              caption="Audit log"
              columns={columns}
              rows={pages.flatMap((page) => page.entries)}
              keyOf={({ auditId }) => auditId}
              empty={<Empty title="No entries">{filters.size > 0 && 'Widen the search or the time range.'}</Empty>}
            />
            <More of={entries} />
          </Panel>
        )}
      </Answer>
    </Page>
  );
}

/** The value of a date and time field, in the operator's zone. */
function momentOf(text: string) {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

const columns: readonly Column<AuditEntry>[] = [
  { label: 'When', render: ({ atMs }) => <Time at={atMs} /> },
  { label: 'Who', names: true, render: (entry) => <Actor entry={entry} /> },
  { label: 'Action', render: ({ action }) => <Action action={action} /> },
  { label: 'Subject', render: (entry) => <Subject entry={entry} /> },
  { label: 'Outcome', render: ({ outcome }) => <Outcome outcome={outcome} /> },
  { label: 'Before and after', render: (entry) => <WhatChanged entry={entry} /> },
];

/** "account.replace_credential", which may break between its words. */
function Action({ action }: { readonly action: string }) {
  const words = action.split(/(?<=[._])/);
  return <code>{words.flatMap((word) => [word, <wbr key={word} />])}</code>;
}

function Actor({ entry: { actor, address } }: { readonly entry: AuditEntry }) {
  return (
    <>
      {actor || <span className="faint">Unknown</span>}
      {address !== '' && <div className="faint">{address}</div>}
    </>
  );
}

/** The page of the changed object, if there is one. */
function Subject({ entry: { action, subject, subjectLabel } }: { readonly entry: AuditEntry }) {
  if (action.startsWith('token.')) {
    return (
      <Link to={`/tokens/${subject}`} title={subject}>
        {subjectLabel} <code>{subject.slice(0, 8)}</code>
      </Link>
    );
  }
  if (action.startsWith('account.')) return <Link to={accountLink(subject)}>{subject}</Link>;
  return subject;
}

const outcomes: Readonly<Record<AuditOutcome, readonly [Tone, string]>> = {
  [AuditOutcome.UNSPECIFIED]: ['neutral', 'Unknown'],
  [AuditOutcome.STARTED]: ['warn', 'Incomplete'],
  [AuditOutcome.DONE]: ['good', 'Done'],
  [AuditOutcome.FAILED]: ['bad', 'Failed'],
  [AuditOutcome.REFUSED]: ['bad', 'Rejected'],
};

function Outcome({ outcome }: { readonly outcome: AuditOutcome }) {
  const [tone, word] = outcomes[outcome];
  return <Status tone={tone}>{word}</Status>;
}

function WhatChanged({ entry: { outcome, before, after, reason, unreadable } }: { readonly entry: AuditEntry }) {
  if (unreadable !== '') return <span className="faint">{unreadable}</span>;
  if (outcome === AuditOutcome.DONE) return <ChangeList before={before} after={after} />;
  return (
    <span className="faint">
      {outcome === AuditOutcome.STARTED
        ? 'The change may have been applied: check the subject.'
        : `Nothing was changed. ${reason}`.trim()}
    </span>
  );
}

/** The changes, a line for each field. */
function ChangeList({ before, after }: { readonly before: string; readonly after: string }) {
  const changes = changesBetween(before, after);
  if (changes.length === 0) return <span className="faint">–</span>;
  return (
    <ul className="changes">
      {changes.map(({ field, was, is }) => (
        <li key={field}>
          <span className="faint">{field}</span> {was !== undefined && <del>{withLocalTimes(was)}</del>}
          {was !== undefined && is !== undefined && <span aria-hidden="true"> → </span>}
          {is !== undefined && <ins>{withLocalTimes(is)}</ins>}
        </li>
      ))}
    </ul>
  );
}
