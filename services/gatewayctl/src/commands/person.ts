import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { type Person, PersonSchema, type Session } from '@gateway/proto/identity/v1/person_service_pb.js';
import { Command } from 'commander';
import type { AdminConnection } from '../connection/admin-connection.ts';
import { firstOf, type Page } from '../connection/pages.ts';
import { UsageError } from '../failures.ts';
import { type OutputFlags, printList, printMessage, withOutput } from '../output/print.ts';
import { type Columns, factSheet, Table } from '../output/table.ts';
import { countText, timeText } from '../output/words.ts';
import { type CommandContext, noteChange } from './context.ts';
import { idOrPrefix } from './flags.ts';

/** `gatewayctl person …` */
export function personCommand({ connect }: CommandContext): Command {
  const person = new Command('person').description(
    'Manages people who sign in from their client. <person> is an e-mail address, a name, or the beginning of an id.',
  );
  withOutput(person.command('list'))
    .description('Lists people, those who were seen last first.')
    .argument('[text]', 'only people with this text in their e-mail address or name', idOrPrefix)
    .action(async (search: string | undefined, output: OutputFlags) => {
      await using admin = await connect();
      const ask = (page: Page) => admin.clientOf(PersonService).listPeople({ search: search ?? '', ...page });
      const pages = firstOf(Number.POSITIVE_INFINITY, ask, ({ people }) => people, 200);
      const whenNone = search === undefined ? 'No one has signed in from a client yet.' : 'No matching people.';
      await printList(output, PersonSchema, pages, { columns, whenNone });
    });
  withOutput(person.command('show'))
    .description('Shows a person with the open sessions.')
    .argument('<person>', 'e-mail address, name, or beginning of an id', idOrPrefix)
    .action(async (named: string, output: OutputFlags) => {
      await using admin = await connect();
      await printMessage(output, PersonSchema, await findPerson(admin, named), personText);
    });
  person
    .command('end-sessions')
    .description('Ends the sessions of a person. Their tokens stop working; the person can sign in again.')
    .argument('<person>', 'e-mail address, name, or beginning of an id', idOrPrefix)
    .argument('[session]', 'only this session: its id, or the beginning of it', idOrPrefix)
    .action(async (named: string, session: string | undefined) => {
      await using admin = await connect();
      const { personId, sessions } = await findPerson(admin, named);
      const sessionId = session === undefined ? '' : findSession(sessions, session).sessionId;
      const ended = await admin.clientOf(PersonService).endSessions({ personId, sessionId });
      noteChange(admin, `${countText(ended.sessions.length, 'session')} of ${named} ended`);
    });
  for (const [name, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    person
      .command(name)
      .description(
        disabled
          ? 'Disables a person: all sessions and tokens of the person stop working, and new sign-ins are refused.'
          : 'Lets a person sign in again.',
      )
      .argument('<person>', 'e-mail address, name, or beginning of an id', idOrPrefix)
      .action(async (named: string) => {
        await using admin = await connect();
        const { personId } = await findPerson(admin, named);
        await admin.clientOf(PersonService).setPersonDisabled({ personId, disabled });
        noteChange(admin, `${named} is ${name}d`);
      });
  }
  return person;
}

async function findPerson(admin: AdminConnection, named: string): Promise<Person> {
  const ask = (page: Page) => admin.clientOf(PersonService).listPeople(page);
  const everyone: Person[] = [];
  for await (const people of firstOf(Number.POSITIVE_INFINITY, ask, (page) => page.people, 1_000))
    everyone.push(...people);
  const exact = everyone.filter(({ email, name, personId }) => [email, name, personId].includes(named));
  const found = exact.length > 0 ? exact : everyone.filter(({ personId }) => personId.startsWith(named));
  const [one, another] = found;
  if (one === undefined) throw new Error(`no person ${named}. Run gatewayctl person list to see everyone.`);
  if (another !== undefined) {
    throw new UsageError(
      `${named} matches several people: ${found.map(({ personId }) => personId).join(', ')}. Enter an id.`,
    );
  }
  return one;
}

function findSession(sessions: readonly Session[], named: string): Session {
  const [one, another] = sessions.filter(({ sessionId }) => sessionId.startsWith(named));
  if (one === undefined) throw new Error(`no open session ${named}.`);
  if (another !== undefined) throw new UsageError(`${named} matches several sessions. Enter more of the id.`);
  return one;
}

const columns: Columns<Person> = {
  'e-mail': ({ email }) => email,
  name: ({ name }) => name,
  sessions: ({ sessions }) => sessions.length,
  'last seen': ({ lastSeenAtMs }) => timeText(lastSeenAtMs, 'never'),
  state: ({ disabledAtMs }) =>
    disabledAtMs === undefined ? { text: 'enabled', color: 'green' } : { text: 'disabled', color: 'dim' },
  id: ({ personId }) => personId,
};

const sessionColumns: Columns<Session> = {
  session: ({ sessionId }) => sessionId,
  client: ({ surface, client }) => [surface, client].filter(Boolean).join(', '),
  address: ({ address }) => address,
  'last used': ({ lastUsedAtMs }) => timeText(lastUsedAtMs),
  'ends unused': ({ expiresAtMs }) => timeText(expiresAtMs),
  token: ({ tokenId }) => tokenId,
};

function personText(person: Person): string {
  const { email, name, personId, subject, createdAtMs, lastSeenAtMs, disabledAtMs, sessions } = person;
  const facts = factSheet({
    ...{ 'e-mail': email, name, id: personId, subject },
    'signed in first': timeText(createdAtMs),
    'last seen': timeText(lastSeenAtMs),
    state: disabledAtMs === undefined ? 'enabled' : `disabled since ${timeText(disabledAtMs)}`,
    sessions: sessions.length === 0 ? 'none' : undefined,
  });
  return sessions.length === 0 ? facts : `${facts}\n${new Table(sessionColumns).linesOf(sessions)}`;
}
