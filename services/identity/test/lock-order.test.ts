import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { GroupService, IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService, SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import type { KyselyPlugin, OperationNode } from 'kysely';
import { describe, expect, it } from 'vitest';
import { hashKeyOf } from '../src/hashing/hash-key.ts';
import { createIdentityService } from '../src/service.ts';
import { lockOrder } from '../src/store/token-store.ts';

const orderedTables: readonly string[] = lockOrder;
const hashKeys = [hashKeyOf(Buffer.alloc(32, 1))];
const personTokens = { mayIssue: true, maxDays: 7 };
const dana = { issuer: 'https://login.example', subject: 'dana', email: 'dana@acme.test', name: 'Dana', groupId: '' };

describe.each(testDatabases)('changes at the same time over $name', ({ open }) => {
  it('lock rows in one order, whatever they change', async () => {
    await using opened = await open();
    const written: string[][] = [];
    const { identity, groups, people, signedIn, signIn } = worldOf(recorded(opened.database, written));
    const { group } = await groups.createGroup({ name: 'team' });
    const { groupId = '' } = group ?? {};
    const { refreshToken } = await signedIn();
    await people.recordPerson({ person: { ...dana, groupId } });
    await signIn.refreshSession({ refreshToken });
    const [person] = (await people.listPeople({})).people;
    const { personId = '' } = person ?? {};
    const { token } = await people.issuePersonToken({ personId, label: 'mine' });
    const { tokenId = '' } = token ?? {};
    await people.rotatePersonToken({ personId, tokenId });
    await people.revokePersonToken({ personId, tokenId });
    await people.endSessions({ personId });
    await signedIn();
    await people.setPersonDisabled({ personId, disabled: true });
    const issued = await identity.issue({ kind: TokenKind.SERVICE, label: 'ci', groupId });
    await identity.rotate({ tokenId: issued.token?.tokenId ?? '' });
    await identity.revoke({ tokenId: issued.token?.tokenId ?? '' });
    await groups.updateGroup({ groupId, name: 'another' });
    await groups.deleteGroup({ groupId });
    const places = written.map((tables) => [...new Set(tables)].map((table) => orderedTables.indexOf(table)));
    expect(places).toEqual(places.map((each) => each.toSorted((one, other) => one - other)));
    expect(new Set(places.flat())).toEqual(new Set(lockOrder.keys()));
  });

  it('all come to an end', async () => {
    await using opened = await open();
    const { groups, people, signedIn, signIn } = worldOf(opened.database);
    const { group } = await groups.createGroup({ name: 'team' });
    const { groupId = '' } = group ?? {};
    const { person } = await people.recordPerson({ person: dana });
    const { personId = '' } = person ?? {};
    for (let round = 0; round < 15; round++) {
      const sessions = [await signedIn(), await signedIn()];
      await Promise.all([
        ...sessions.map(({ refreshToken }) => signIn.refreshSession({ refreshToken })),
        people.recordPerson({ person: { ...dana, groupId: round % 2 === 0 ? groupId : '' } }),
        people.endSessions({ personId }),
        people.setPersonDisabled({ personId, disabled: true }),
        groups.updateGroup({ groupId, note: String(round) }),
      ]);
      await people.setPersonDisabled({ personId, disabled: false });
    }
  });
});

function worldOf(database: GatewayDatabase) {
  const runtime = { logger: createLogger('identity', 'silent'), metrics: new Metrics() };
  const { routes } = createIdentityService({ hashKeys, personTokens }, { database }, runtime);
  const people = directClientOf(routes, PersonService);
  const signIn = directClientOf(routes, SignInService);
  return {
    ...{ people, signIn },
    identity: directClientOf(routes, IdentityService),
    groups: directClientOf(routes, GroupService),
    signedIn: async () => {
      const { deviceCode, userCode } = await signIn.beginDeviceGrant({ surface: 'claude_code' });
      await people.decideDeviceGrant({ userCode, person: dana });
      const { result } = await signIn.redeemDeviceCode({ deviceCode });
      if (result.case !== 'tokens') throw new Error(`no tokens, but ${result.value}`);
      return result.value;
    },
  };
}

/** The same database; each transaction adds a list of the tables that it writes to, in order. */
function recorded(database: GatewayDatabase, written: string[][]): GatewayDatabase {
  return new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'transaction') return typeof value === 'function' ? value.bind(target) : value;
      return (): Pick<ReturnType<GatewayDatabase['transaction']>, 'execute'> => ({
        execute: (work) => {
          const tables: string[] = [];
          written.push(tables);
          return target.transaction().execute((transaction) => work(transaction.withPlugin(recorderOf(tables))));
        },
      });
    },
  });
}

function recorderOf(tables: string[]): KyselyPlugin {
  return {
    transformQuery({ node }) {
      if (node.kind !== 'SelectQueryNode') tables.push(...tablesIn(writtenPart(node)).slice(0, 1));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

/** The part of a statement that names the table to which it writes. */
function writtenPart(node: OperationNode): unknown {
  if ('into' in node) return node.into;
  return 'table' in node ? node.table : 'from' in node ? node.from : undefined;
}

function tablesIn(part: unknown): readonly string[] {
  if (typeof part !== 'object' || part === null) return [];
  if ('kind' in part && part.kind === 'IdentifierNode' && 'name' in part) return [String(part.name)];
  return Object.values(part).flatMap(tablesIn);
}
