import type { DescService } from '@bufbuild/protobuf';
import { type Client, ConnectError, createClient, createRouterTransport, type ServiceImpl } from '@connectrpc/connect';
import { openTestSqlite } from '@gateway/database/testing';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { directClient, type Handlers, type Client as PeerClient } from '@gateway/rpc';
import { createLogger } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { expect, onTestFinished } from 'vitest';
import { AuditTrail } from '../access/audit-trail.ts';
import { callerKey } from '../access/caller.ts';
import { AlertSender } from '../alerts/alert-sender.ts';
import type { AdminParts, AdminPeers } from '../parts.ts';

export const startMs = Date.parse('2026-11-23T10:00:00Z');

/** A peer that answers as the test says. Any other call fails. */
export function peer<S extends DescService>(service: S, handlers: Partial<Handlers<S>>): PeerClient<S> {
  const unexpected = service.methods.map(({ localName }) => [
    localName,
    () => expect.fail(`${localName} was not expected`),
  ]);
  return directClient({ service, handlers: { ...Object.fromEntries(unexpected), ...handlers } });
}

/**
 * A service of the admin API as an operator calls it, in front of these peers, and its audit log.
 */
export async function rpcWorld<S extends DescService>(
  service: S,
  create: (parts: AdminParts) => ServiceImpl<S>,
  peers: Partial<AdminPeers>,
) {
  const { database, ...opened } = await openTestSqlite();
  onTestFinished(() => opened[Symbol.asyncDispose]());
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const audit = new AuditTrail(database);
  const proxies = { httpsProxy: '', httpProxy: '', noProxy: '' };
  const sender = new AlertSender({ proxies, publicUrl: undefined });
  onTestFinished(() => sender[Symbol.asyncDispose]());
  const logger = createLogger('admin', 'silent');
  const parts = { peers: peers as AdminPeers, database, audit, sender, logger };
  const caller = { kind: 'operator', operatorId: 'o1', name: 'ada', role: Role.OPERATOR, address: '' } as const;
  const transport = createRouterTransport((router) => router.service(service, create(parts)), {
    router: { interceptors: [(next) => (request) => next(withCaller(request))] },
  });
  function withCaller<
    R extends { readonly contextValues: { set(key: typeof callerKey, value: typeof caller): unknown } },
  >(request: R): R {
    request.contextValues.set(callerKey, caller);
    return request;
  }
  const client: Client<S> = createClient(service, transport);
  return {
    client,
    time,
    audited: async () => {
      const rows = await database.selectFrom('audit_log').selectAll().orderBy('at_ms').execute();
      return rows.map(({ actor, action, subject, outcome, details }) => {
        return { actor, action, subject, outcome, ...(JSON.parse(details) as { before?: object; after?: object }) };
      });
    },
  };
}

/** The reasons of a refusal, by field. */
export async function fieldsOf(call: Promise<unknown>): Promise<Readonly<Record<string, string>>> {
  const thrown = await call.then(
    () => expect.fail('it was not refused'),
    (reason: unknown) => reason,
  );
  const [details] = ConnectError.from(thrown).findDetails(InvalidFieldsSchema);
  return Object.fromEntries((details?.fields ?? []).map(({ field, text }) => [field, text]));
}
