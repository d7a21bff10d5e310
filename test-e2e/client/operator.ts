import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescService, MessageInitShape } from '@bufbuild/protobuf';
import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import {
  IdentityService,
  type IssueRequestSchema,
  type Token,
  type UpdateRequestSchema,
} from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Account } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { type Channel, openChannel, Tls } from '@gateway/rpc/grpc';
import type { ServiceName } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { trustedAuthority } from '../topologies/certificates.ts';

/** Operators' actions for tests. */
export interface Operator {
  issue(
    request: MessageInitShape<typeof IssueRequestSchema>,
  ): Promise<{ readonly token?: Token | undefined; readonly tokenText: string }>;
  update(request: MessageInitShape<typeof UpdateRequestSchema>): Promise<unknown>;
  revoke(tokenId: string): Promise<unknown>;
  /** The current accounts of one pool. */
  accountsOf(pool: string): Promise<readonly Account[]>;
  /**
   * Whether the broker knows a pool's models. Until then other pools of the same provider may get
   * their requests.
   */
  knowsModelsOf(pool: string): Promise<boolean>;
  /** The latest requests of a token, newest first. */
  requestsOf(tokenId: string): Promise<readonly RequestRecorded[]>;
}

/** A client of the admin API, signed in with an operator's token. */
export function adminClient<S extends DescService>(service: S, { adminUrl, adminToken }: AdminAccess): Client<S> {
  const transport = createConnectTransport({
    baseUrl: adminUrl,
    httpVersion: '1.1',
    nodeOptions: adminUrl.startsWith('https:') ? { agent: new Agent({ ca: trustedAuthority() }) } : {},
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${adminToken}`);
        return next(request);
      },
    ],
  });
  return createClient(service, transport);
}

export interface AdminAccess {
  readonly adminUrl: string;
  readonly adminToken: string;
}

/** The first operator's token of an embedded gateway. */
export async function adminTokenIn(dataFolder: string): Promise<string> {
  return (await readFile(join(dataFolder, 'admin-token'), 'utf8')).trim();
}

/** Through the admin API, as the command line and the console do. */
export function operatorByApi(access: AdminAccess): Operator {
  const [tokens, pools, requests] = [
    adminClient(TokenService, access),
    adminClient(PoolService, access),
    adminClient(RequestService, access),
  ];
  return {
    issue: (request) => tokens.issueToken(shared(request), options()),
    update: (request) => tokens.updateToken(shared(request), options()),
    revoke: (tokenId) => tokens.revokeToken({ tokenId }, options()),
    async accountsOf(pool) {
      const { overview } = await pools.listPools({ pool }, options());
      return overview?.pools.flatMap(({ accounts }) => accounts) ?? [];
    },
    async knowsModelsOf(name) {
      const { overview } = await pools.listPools({ pool: name }, options());
      return overview?.pools[0]?.pool?.modelsReportedAtMs !== undefined;
    },
    async requestsOf(tokenId) {
      const listed = await requests.listRequests({ search: { tokenIds: [tokenId] }, pageSize: 100 }, options());
      return listed.requests.flatMap(({ request }) => request ?? []);
    },
  };
}

/**
 * Through the services themselves, if no admin service runs.
 * @param certificates the folder with certificates, if services speak TLS.
 */
export function operatorByServices(
  urls: Readonly<Record<ServiceName, string>>,
  certificates: string | undefined,
): Operator & Disposable {
  using opening = new DisposableStack();
  const tls = certificates === undefined ? undefined : opening.use(new Tls(adminFiles(certificates)));
  const open = (service: ServiceName): Channel => opening.use(openChannel(urls[service], { service, tls }));
  const identity = open('identity').client(IdentityService);
  const broker = open('pool-broker').client(PoolBrokerService);
  const report = open('usage-query').client(UsageReportService);
  const opened = opening.move();
  return {
    issue: (request) => onceReachable(() => identity.issue(request, deadline)),
    update: (request) => identity.update(request, deadline),
    revoke: (tokenId) => identity.revoke({ tokenId }, deadline),
    accountsOf: async (pool) => (await broker.listAccounts({ pool }, deadline)).accounts,
    async knowsModelsOf(pool) {
      const { pools } = await onceReachable(() => broker.listPools({}, deadline));
      return pools.find(({ name }) => name === pool)?.modelsReportedAtMs !== undefined;
    },
    async requestsOf(tokenId) {
      const search = { tokenIds: [tokenId] };
      return (await report.listRequests({ search, pageSize: 100 }, deadline)).requests;
    },
    [Symbol.dispose]: () => opened.dispose(),
  };
}

/** The connection to a service that has just started may not be ready yet. */
async function onceReachable<T>(call: () => Promise<T>): Promise<T> {
  for (const giveUpAtMs = Date.now() + roomMs(10_000); ; await sleep(50)) {
    try {
      return await call();
    } catch (thrown) {
      if (!(thrown instanceof RpcError && thrown.status === 'unavailable') || Date.now() > giveUpAtMs) throw thrown;
    }
  }
}

const options = () => ({ signal: AbortSignal.timeout(roomMs(10_000)) });
const deadline = { timeoutMs: roomMs(10_000) };

/** The admin API has the fields of identity under the same names, in messages of its own. */
function shared<T extends { readonly $typeName?: string }>({ $typeName: _, ...fields }: T): Omit<T, '$typeName'> {
  return fields;
}

function adminFiles(folder: string) {
  return {
    certFile: join(folder, 'admin.crt'),
    keyFile: join(folder, 'admin.key'),
    caFile: join(folder, 'ca.crt'),
  };
}
