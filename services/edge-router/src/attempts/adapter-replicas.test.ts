import { create } from '@bufbuild/protobuf';
import { BufferList } from '@gateway/json';
import {
  AdapterService,
  Dialect,
  ExecuteHeadSchema,
  type ExecuteRequest,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LeaseSchema, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService, type ReportRequest } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { directClient, serviceRoute } from '@gateway/rpc';
import { GrpcServer, openChannel } from '@gateway/rpc/grpc';
import { describe, expect, it, onTestFinished } from 'vitest';
import { admittedCall } from '../__fixtures__/test-call.ts';
import { requestFrames } from '../endpoints/generate.ts';
import { runAttempts } from './attempt-loop.ts';
import { Leases } from './leases.ts';

const lease = create(LeaseSchema, { leaseId: 'l', accountId: 'a', format: ProviderFormat.RESPONSES, model: 'm' });

/**
 * Replicas of an adapter behind one name. Each of the first `dying` calls ends the replica that it
 * reaches.
 */
async function adapters({ replicas, dying }: { readonly replicas: number; readonly dying: number }) {
  let calls = 0;
  const servers = await Promise.all(
    Array.from({ length: replicas }, async () => {
      const execute = async function* (requests: AsyncIterable<ExecuteRequest>) {
        for await (const _ of requests);
        if (++calls <= dying) await server.stop(0);
        yield { head: { status: 200 }, body: new Uint8Array([1]) };
      };
      const routes = [
        serviceRoute(AdapterService, { execute, countTokens: refuse, listModels: refuse, probeAccount: refuse }),
      ];
      const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes });
      onTestFinished(() => server.stop(0));
      return server;
    }),
  );
  const resolve = async () => servers.map(({ port }) => `127.0.0.1:${port}`);
  const channel = openChannel('http://adapter:80', { resolve });
  onTestFinished(() => channel[Symbol.dispose]());
  return { adapter: channel.client(AdapterService), calls: () => calls };
}

function refuse(): never {
  throw new Error('not expected here');
}

/** Makes a request with the single account, for one format. */
async function ask({ adapter }: Awaited<ReturnType<typeof adapters>>) {
  const reported: ReportRequest[] = [];
  let leases = 0;
  const broker = directClient(
    serviceRoute(PoolBrokerService, {
      acquire: () => ({
        result: leases++ === 0 ? { case: 'lease', value: lease } : { case: 'unavailable', value: {} },
      }),
      report: (request) => {
        reported.push(request);
        return {};
      },
      listModels: refuse,
      watchCatalog: refuse,
      listPools: refuse,
      reportModels: refuse,
      listAccounts: refuse,
      explain: refuse,
      renewLeases: refuse,
    }),
  );
  const head = create(ExecuteHeadSchema, { lease, dialect: Dialect.RESPONSES });
  const end = await runAttempts(
    {
      call: admittedCall({ route: { path: '/v1/responses', cost: undefined } }),
      model: 'm',
      formats: [ProviderFormat.RESPONSES],
      affinityKey: '',
      execute: (_lease, signal) =>
        adapter.execute(requestFrames(head, new BufferList([new Uint8Array(3)])), { signal }),
    },
    {
      leases: new Leases({ broker, deadline: {}, events: { reportGivenUp: refuse, faulted: refuse } }),
      events: { failedOver: refuse },
    },
  );
  if (end.kind === 'answering') onTestFinished(() => void end.frames.close());
  return { end, leases: () => leases, reported };
}

describe('a request whose adapter dies before its answer begins', () => {
  it('is served by another replica behind the same name, with the same lease', async () => {
    const two = await adapters({ replicas: 2, dying: 1 });
    const { end, leases, reported } = await ask(two);
    expect([end.kind, two.calls(), leases(), reported]).toEqual(['answering', 2, 1, []]);
  });

  it('is a failure when the other dies too, or there is none, and its place is free', async () => {
    for (const dying of [await adapters({ replicas: 2, dying: 2 }), await adapters({ replicas: 1, dying: 1 })]) {
      const { end, reported } = await ask(dying);
      expect(end).toMatchObject({ kind: 'failed', error: { code: 'providers_unavailable' } });
      expect(reported.map(({ attempt }) => attempt?.lease?.leaseId)).toEqual(['l']);
    }
  });
});
