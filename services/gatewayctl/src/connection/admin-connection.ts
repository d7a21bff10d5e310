import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { OfflineDatabase } from '@gateway/all-in-one/offline-admin';
import { type Environment, readSettings } from '@gateway/config/env-reader';
import { readTlsFiles } from '@gateway/config/transport-settings';
import { UsageError } from '../failures.ts';
import { note } from '../output/print.ts';
import { type AdminAddress, readAdminAddress } from './admin-address.ts';
import { findAdminToken } from './admin-token.ts';
import { callTimeoutMs } from './deadlines.ts';
import { askAdminPort, signOfGateway } from './signs-of-gateway.ts';

/** The admin API, in a gateway or in this process. */
export interface AdminConnection extends AsyncDisposable {
  clientOf<S extends DescService>(service: S): Client<S>;
  /** The database of a command without a running gateway; undefined for a running gateway. */
  readonly database: OfflineDatabase | undefined;
  /** Undefined without a running gateway. */
  readonly gateway: RunningGateway | undefined;
}

export interface RunningGateway {
  readonly url: string;
  /** Requests something that is not an RPC: an export, the state of the process. */
  get(path: string, signal?: AbortSignal): Promise<IncomingMessage>;
}

/** Connects a command to the admin API: once, when the command needs it. */
export type Connect = (options?: ConnectOptions) => Promise<AdminConnection>;

interface ConnectOptions {
  /** The command changes nothing: it creates no database. */
  readonly reads?: boolean;
  /** The command needs data of a running gateway. */
  readonly running?: boolean;
  /** The command creates tokens, which needs the gateway's own key. */
  readonly issues?: true;
  /** The user wants the database itself, even if a gateway runs. */
  readonly offline?: boolean | undefined;
}

/**
 * Connects to the running gateway. If none runs at the default address, the admin API runs in this
 * process on its database. This is refused if there are signs of a gateway on this machine: a
 * change in a database that the gateway does not use would have no effect.
 */
export function connectTo(env: Environment): Connect {
  return async ({ running = false, reads = false, issues = false, offline = false } = {}) => {
    if (running && offline) throw new UsageError('--offline: this command needs a running gateway.');
    const address = readAdminAddress(env);
    if (running || (address.isNamed && !offline)) return await connectToGateway(env, address);
    if (!offline) {
      const adminPort = await askAdminPort(address);
      if (adminPort === 'gateway') return await connectToGateway(env, address);
      const sign = await signOfGateway(env, address, adminPort);
      if (sign !== undefined) throw new Error(`${sign}. ${adviceForSign}`);
    }
    return await connectToDatabase(env, { reads, issues });
  };
}

const adviceForSign =
  'Set GATEWAY_ADMIN_URL to the address of its console, or use --offline to use the database of this environment.';

async function connectToDatabase(
  env: Environment,
  options: { readonly reads: boolean; readonly issues: boolean },
): Promise<AdminConnection> {
  const { openOfflineAdmin } = await import('@gateway/all-in-one/offline-admin');
  const offline = await openOfflineAdmin(env, options);
  if (offline.database.kind === 'none') {
    note(
      `no gateway runs on this machine, and there is no ${offline.database.description}. To use another gateway, set GATEWAY_ADMIN_URL to the address of its console, or GATEWAY_DATA to its folder.`,
    );
  }
  return {
    clientOf: (service) => createClient(service, offline.transport),
    database: offline.database,
    gateway: undefined,
    [Symbol.asyncDispose]: () => offline[Symbol.asyncDispose](),
  };
}

async function connectToGateway(env: Environment, { url }: AdminAddress): Promise<AdminConnection> {
  const token = (await findAdminToken(env, url))?.token;
  const agent = await agentFor(env, url);
  const transport = transportBy(agent, url, token);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { request } = url.startsWith('https:') ? https : http;
  return {
    clientOf: (service) => createClient(service, transport),
    database: undefined,
    gateway: {
      url,
      async get(path, signal) {
        const asked = request(new URL(path, url), { agent, headers, signal });
        try {
          const [answer] = await once(asked.end(), 'response', { signal });
          return answer;
        } catch (thrown) {
          throw ConnectError.from(thrown, Code.Unavailable);
        }
      },
    },
    async [Symbol.asyncDispose]() {},
  };
}

export async function gatewayTransport(env: Environment, url: string, token: string): Promise<Transport> {
  return transportBy(await agentFor(env, url), url, token);
}

/** @param token undefined for the calls that need none. */
function transportBy(agent: http.Agent, url: string, token: string | undefined): Transport {
  const signIn: Interceptor = (next) => (request) => {
    if (token !== undefined) request.header.set('authorization', `Bearer ${token}`);
    return next(request);
  };
  return createConnectTransport({
    baseUrl: url,
    httpVersion: '1.1',
    nodeOptions: { agent },
    defaultTimeoutMs: callTimeoutMs,
    interceptors: [signIn],
  });
}

/**
 * Each call has a connection of its own: a gateway closes one that is idle, and on a busy machine
 * the next call would find it closed. With TLS_CA_FILE and the other TLS settings, the certificate
 * must have the service's name; otherwise it must have the host's.
 */
async function agentFor(env: Environment, url: string): Promise<http.Agent> {
  const files = readSettings(env, readTlsFiles);
  if (!url.startsWith('https:')) return new http.Agent({ keepAlive: false });
  if (files === undefined) return new https.Agent({ keepAlive: false });
  // It describes every service of the gateway, so it is loaded for TLS only.
  const { identityCheck } = await import('@gateway/rpc/call-table');
  const [cert, key, ca] = [files.certFile, files.keyFile, files.caFile].map((file) => readFileSync(file));
  return new https.Agent({ keepAlive: false, cert, key, ca, checkServerIdentity: identityCheck('admin') });
}
