import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { ConnectError, createClient, createConnectRouter, createRouterTransport } from '@connectrpc/connect';
import { AuditTrail } from '@gateway/admin/access/audit-trail';
import { type Caller, callerKey } from '@gateway/admin/access/caller';
import { OperatorStore } from '@gateway/admin/access/operators';
import { permissionOf } from '@gateway/admin/access/permissions';
import { AlertSender } from '@gateway/admin/alerts/alert-sender';
import { type AdminParts, type AdminPeers, peersOf } from '@gateway/admin/parts';
import { operationRoutes } from '@gateway/admin/routes';
import { openTestSqlite } from '@gateway/database/testing';
import { changesBetween } from '@gateway/presentation/changes-between';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AuditOutcome, AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type Person, PersonSchema } from '@gateway/proto/identity/v1/person_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient, type Handlers } from '@gateway/rpc';
import { createLogger } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';
import { type FieldValues, filledMessage } from '../__fixtures__/filled-message.ts';

// Requests and answers are made from the descriptors: a new RPC or field is in here by itself.

/** Values that an RPC needs to do its work. */
const neededValues: FieldValues = {
  pageToken: '',
  nextPageToken: '',
  expectedRevision: 0,
  conflict: false,
  dryRun: false,
  localDay: '2026-11-20',
};

/** What an answer leaves out, because the RPC would have nothing to do. */
const absentFor: Readonly<Record<string, FieldValues>> = { revokeToken: { revokedAtMs: undefined } };

/** These name something that exists; the others may create it. */
const namesKnown: ReadonlySet<string> = new Set(['probeAccounts', 'testAlert']);

const changes = allMethods().filter(
  (method) =>
    method.methodKind === 'unary' &&
    permissionOf(method) !== Role.VIEWER &&
    permissionOf(method) !== 'signed in' &&
    !/^(list|get)[A-Z]/.test(method.localName),
);

it('knows the changes of every service', () => {
  expect(changes.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['CreateGroup', 'IssueMyToken', 'RotateToken']),
  );
});

describe.each(changes.map((method) => [`${method.parent.name}.${method.name}`, method] as const))(
  'an audit row of %s with every field set',
  (_name, method) => {
    it('is listed, and shown by the command line and the console', async () => {
      const world = await aWorld(absentFor[method.localName] ?? {});
      await world.call(method);
      const audit = createClient(AuditService, world.transport);
      const { entries } = await audit.listAudit({});
      expect(entries).toMatchObject([{ outcome: AuditOutcome.DONE, reason: '', unreadable: '' }]);
      for (const { before, after } of entries) {
        const shown = changesBetween(before, after);
        expect(JSON.stringify(shown)).not.toMatch(/\[object|NaN|undefined|_KIND_|_PERIOD_/);
      }
      const line = new CommandLine(world.routes);
      const table = await line.run('audit', 'list');
      expect(table).toMatchObject({ exitCode: 0, notes: '' });
      expect(table.lines).toHaveLength(2);
      expect(table.printed).not.toContain("can't be shown");
      expect((await line.run('audit', 'list', '-o', 'json')).json()).toMatchObject([{ outcome: 'done' }]);
    });
  },
);

/** The admin API in front of services that answer with every field set. */
async function aWorld(absent: FieldValues) {
  const { database, ...opened } = await openTestSqlite();
  onTestFinished(() => opened[Symbol.asyncDispose]());
  const time = new ManualTime(Date.parse('2026-11-23T10:00:00Z'));
  onTestFinished(() => time[Symbol.dispose]());
  const sender = new AlertSender({
    proxies: { httpsProxy: '', httpProxy: '', noProxy: '' },
    publicUrl: undefined,
  });
  onTestFinished(() => sender[Symbol.asyncDispose]());
  const answers = { ...neededValues, ...absent, text: 'known' };
  const filledClient = <S extends DescService>(service: S) =>
    directClient({
      service,
      handlers: Object.fromEntries(
        service.methods.map(({ localName, output }) => [localName, () => filledMessage(output, answers)]),
      ) as unknown as Handlers<S>,
    });
  const adapter = filledClient(AdapterService);
  const peers: AdminPeers = {
    ...peersOf(filledClient),
    adapters: new Map([ProviderFormat.RESPONSES, ProviderFormat.MESSAGES].map((format) => [format, adapter])),
    replicas: { read: async () => [], settings: async () => [] },
    edgeUrl: undefined,
  };
  const parts = { peers, database, audit: new AuditTrail(database), sender };
  const operators = new OperatorStore(database);
  await operators.add('ada', 'admin', 'gw_a_one');
  const eva = await operators.add('eva', 'operator', 'gw_a_two');
  const routes = operationRoutes({ ...parts, logger: createLogger('admin', 'silent') } as AdminParts, operators);
  const transport = createRouterTransport(routes, {
    router: {
      interceptors: [
        (next) => (request) => {
          request.contextValues.set(callerKey, callerFor(request.method));
          return next(request);
        },
      ],
    },
  });
  const call = async (method: DescMethod) => {
    const text = namesKnown.has(method.localName) ? 'known' : 'asked';
    const values = { ...neededValues, text, operatorId: eva?.operator_id };
    const request = filledMessage(method.input, values);
    for (;;) {
      try {
        await transport.unary(method as never, undefined, undefined, undefined, request as never);
        return;
      } catch (thrown) {
        // Some fields exclude each other.
        if (!withoutRefused(request, ConnectError.from(thrown))) throw thrown;
      }
    }
  };
  return { routes, transport, call };
}

function callerFor(method: DescMethod): Caller {
  const person = filledMessage(PersonSchema, neededValues) as Person;
  return permissionOf(method) === 'person'
    ? { kind: 'person', person, address: '' }
    : { kind: 'operator', operatorId: 'o1', name: 'ada', role: Role.ADMIN, address: '' };
}

/** Removes the fields that were refused. False: it named none that are set. */
function withoutRefused(request: Message, refused: ConnectError): boolean {
  const places = refused.findDetails(InvalidFieldsSchema).flatMap(({ fields }) => fields.map(({ field }) => field));
  return places.map((place) => remove(request, place.split('.'))).includes(true);
}

function remove(from: object, [name = '', ...rest]: readonly string[]): boolean {
  const inner: unknown = Reflect.get(from, name);
  if (rest.length > 0) return typeof inner === 'object' && inner !== null && remove(inner, rest);
  return inner !== undefined && Reflect.deleteProperty(from, name);
}

function allMethods(): readonly DescMethod[] {
  const router = createConnectRouter();
  const parts = { peers: {}, logger: createLogger('admin', 'silent') } as AdminParts;
  operationRoutes(parts, {} as OperatorStore)(router);
  return router.handlers.map(({ method }) => method);
}
