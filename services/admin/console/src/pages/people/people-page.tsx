import { useInfiniteQuery } from '@connectrpc/connect-query';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import type { Person, Session } from '@gateway/proto/identity/v1/person_service_pb.js';
import { useEffect, useState } from 'react';
import { useSigned } from '../../api/session.tsx';
import { useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Page } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { byPages, type Column, More, Table } from '../../ui/table.tsx';
import { Ago, Time } from '../../ui/time.tsx';
import { DisablePerson, EndSessions } from './person-dialogs.tsx';

type Open = { readonly dialog: 'end' | 'use'; readonly person: Person };

/** People who sign in from their client, with their sessions. The search is in the address. */
export function PeoplePage() {
  const { may } = useSigned();
  const [params, setParams] = useSearchParams();
  const search = params.get('q') ?? '';
  const [draft, setDraft] = useState(search);
  useEffect(() => setDraft(search), [search]);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const list = useInfiniteQuery(
    PersonService.method.listPeople,
    { search, pageSize: 50, pageToken: '' },
    { ...byPages, refetchInterval: 10_000 },
  );
  return (
    <Page
      title="People"
      about="People who sign in from their client with your organisation's sign-in. Each session has a personal token that is renewed every hour."
    >
      <Form className="filters" aria-label="Filters" onSubmit={() => setParams({ q: draft.trim() })}>
        <TextField label="Search" type="search" placeholder="e-mail address or name" value={draft} onValue={setDraft} />
        <Button type="submit">Search</Button>
      </Form>
      <section className="panel" aria-label="People">
        <Answer of={list} what="people">
          {({ pages }) => (
            <>
              <Table
                caption="People, those who were seen last first"
                rows={pages.flatMap(({ people }) => people)}
                keyOf={({ personId }) => personId}
                columns={columnsFor(may(Role.OPERATOR) ? setOpen : undefined)}
                empty={<NoPeople search={search} />}
              />
              <More of={list} />
            </>
          )}
        </Answer>
      </section>
      {open?.dialog === 'end' && <EndSessions person={open.person} onClose={close} />}
      {open?.dialog === 'use' && <DisablePerson person={open.person} onClose={close} />}
    </Page>
  );
}

function NoPeople({ search }: { readonly search: string }) {
  if (search !== '')
    return <Empty title={`No one matches “${search}”`}>Search for a part of the address or name.</Empty>;
  return <Empty title="No one has signed in from a client yet">Clients sign in at the address of the gateway.</Empty>;
}

function columnsFor(open: ((open: Open) => void) | undefined): readonly Column<Person>[] {
  return [
    {
      label: 'Person',
      names: true,
      render: ({ email, name, personId }) => (
        <>
          {email || name || personId}
          {email !== '' && name !== '' && name !== email && <div className="faint small">{name}</div>}
        </>
      ),
    },
    {
      label: 'State',
      render: ({ disabledAtMs }) =>
        disabledAtMs === undefined ? <Status tone="good">Enabled</Status> : <Status tone="neutral">Disabled</Status>,
    },
    { label: 'Last seen', render: ({ lastSeenAtMs }) => <Ago at={lastSeenAtMs} /> },
    { label: 'Open sessions', render: ({ sessions }) => <Sessions sessions={sessions} /> },
    {
      label: 'Actions',
      labelHidden: true,
      align: 'end',
      render: (person) => open !== undefined && <Actions person={person} open={open} />,
    },
  ];
}

function Sessions({ sessions }: { readonly sessions: readonly Session[] }) {
  if (sessions.length === 0) return <span className="faint">None</span>;
  return (
    <ul className="plain">
      {sessions.map(({ sessionId, tokenId, surface, client, address, lastUsedAtMs, expiresAtMs }) => (
        <li key={sessionId}>
          <Link to={`/tokens/${tokenId}`}>{client || surface || 'client'}</Link> from {address || 'an unknown address'}
          <div className="faint small">
            used <Ago at={lastUsedAtMs} />, ends unused at <Time at={expiresAtMs} />
          </div>
        </li>
      ))}
    </ul>
  );
}

function Actions({ person, open }: { readonly person: Person; readonly open: (open: Open) => void }) {
  const named = person.email || person.name || person.personId;
  const action = (dialog: Open['dialog'], label: string) => (
    <Button kind="quiet" aria-label={`${label}: ${named}`} onClick={() => open({ dialog, person })}>
      {label}
    </Button>
  );
  return (
    <span className="row end">
      {person.sessions.length > 0 && action('end', 'End sessions')}
      {action('use', person.disabledAtMs === undefined ? 'Disable' : 'Enable')}
    </span>
  );
}
