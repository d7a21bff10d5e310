import { Code, ConnectError, createClient, createRouterTransport, type ServiceImpl } from '@connectrpc/connect';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { connectErrorOf, serverInterceptors } from './connect-server.ts';
import { RpcError } from './errors.ts';

type Impl = Partial<ServiceImpl<typeof IdentityService>>;

function aServer(handlers: Impl) {
  const metrics = new Metrics();
  const faults: unknown[] = [];
  const onFault = (method: string, fault: unknown) => void faults.push([method, fault]);
  const transport = createRouterTransport(({ service }) => service(IdentityService, handlers), {
    router: { interceptors: serverInterceptors(metrics, onFault) },
  });
  return { client: createClient(IdentityService, transport), metrics, faults };
}

describe('a server of the Connect protocol', () => {
  it('passes on what a service behind it answered as an error', async () => {
    const { client, faults } = aServer({
      issue: () => Promise.reject(new GatewayError('invalid_request', 'label must not be empty.')),
      revoke: () => Promise.reject(new RpcError('unavailable', 'identity can not be reached')),
    });
    await expect(client.issue({})).rejects.toMatchObject({ code: Code.InvalidArgument });
    const refused = await client.issue({}).catch((thrown: unknown) => ConnectError.from(thrown));
    const [detail] = refused instanceof ConnectError ? refused.findDetails(ErrorDetailSchema) : [];
    expect(detail && fromErrorDetail(detail)).toEqual(new GatewayError('invalid_request', 'label must not be empty.'));
    await expect(client.revoke({})).rejects.toMatchObject({ code: Code.Unavailable });
    expect(faults).toEqual([]);
  });

  it('logs an internal error with its method, and shows nothing of it', async () => {
    const fault = new TypeError('undefined is not a token');
    const { client, faults } = aServer({
      issue: () => Promise.reject(fault),
      // biome-ignore lint/correctness/useYield: it fails before it has a message
      async *watchChanges() {
        throw fault;
      },
    });
    const read = async () => {
      for await (const _ of client.watchChanges({})) expect.fail();
    };
    for (const call of [client.issue({}), read()]) {
      const thrown = await call.then(
        () => undefined,
        (error: unknown) => ConnectError.from(error),
      );
      expect(thrown?.code).toBe(Code.Internal);
      expect(thrown?.message).not.toContain('undefined is not a token');
    }
    expect(faults).toEqual([
      [expect.stringContaining('IdentityService.Issue'), fault],
      [expect.stringContaining('IdentityService.WatchChanges'), fault],
    ]);
  });

  it.each([
    ['the reason of the signal', (reason: ConnectError) => reason],
    ['an error that is made of it', (reason: ConnectError) => new Error('stopped', { cause: reason })],
    ['an abort error', () => new DOMException('This operation was aborted', 'AbortError')],
  ])('says that a deadline has passed, when the handler throws %s', (_, thrownFor) => {
    const reason = new ConnectError('too late', Code.DeadlineExceeded);
    const call = { method: IdentityService.method.issue, signal: AbortSignal.abort(reason) };
    const faults: unknown[] = [];
    const error = connectErrorOf(thrownFor(reason), call, (_method, fault) => void faults.push(fault));
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(faults).toEqual([]);
  });

  it('measures every call, streams until their end', async () => {
    const { client, metrics } = aServer({
      issue: () => ({}),
      revoke: () => Promise.reject(new ConnectError('none', Code.NotFound)),
      async *watchChanges() {
        yield { tokenIds: [] };
        yield { tokenIds: ['id'] };
      },
    });
    await client.issue({});
    await client.revoke({}).catch(() => undefined);
    for await (const _ of client.watchChanges({})) {
      const shown = await metrics.exposition();
      expect(shown).toMatch(/gateway_rpc_server_calls_in_flight\{rpc_method="[\w.]+\/WatchChanges"\} 1/);
    }
    const shown = await metrics.exposition();
    const counted = [...shown.matchAll(/^rpc_server_call_duration_seconds_count\{(.*)\} 1$/gm)].map(
      ([, labels]) => labels,
    );
    expect(counted).toEqual([
      expect.stringMatching(/rpc_system_name="connectrpc".*Service\/Issue".*code="OK"/),
      expect.stringMatching(/Service\/Revoke".*code="NOT_FOUND",error_type="NOT_FOUND"/),
      expect.stringMatching(/Service\/WatchChanges".*code="OK"/),
    ]);
    expect(shown).toMatch(/gateway_rpc_server_calls_in_flight\{rpc_method="[\w.]+\/WatchChanges"\} 0/);
  });
});
