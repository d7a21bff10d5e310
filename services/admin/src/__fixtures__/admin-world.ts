import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { openTestSqlite } from '@gateway/database/testing';
import { IdentityService, TokenKind, type TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { directClient, type Handlers, serviceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { createTokenText, tokenSha256 } from '@gateway/tokens';
import { sql } from 'kysely';
import { onTestFinished } from 'vitest';
import { OperatorStore } from '../access/operators.ts';
import { readAdminConfig } from '../config.ts';
import type { AdminPeers } from '../parts.ts';
import { createAdminService } from '../service.ts';

export interface Sent {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

import { fakePeople } from './fake-people.ts';

/** A cookie and the headers that belong to it. */
export interface BrowserSession {
  readonly cookie: string;
  readonly csrfToken: string;
}

/**
 * The admin service on its own port, with one operator of each role. A fake identity service knows
 * the callers' tokens. @param edgeUrl the public API, for the playground
 */
export async function anAdminWorld(env: Readonly<Record<string, string>> = {}, atPort = 0, edgeUrl?: string) {
  const { database, ...opened } = await openTestSqlite();
  const time = new ManualTime(Date.parse('2026-11-23T10:00:00Z'));
  onTestFinished(() => time[Symbol.dispose]());
  const metrics = new Metrics();
  const runtime = { logger: createLogger('admin', 'silent'), metrics };
  const callers = new Map<string, MessageInitShape<typeof TokenSchema>>();
  const identity = directClient(serviceRoute(IdentityService, identityOf(callers)));
  const { people, groups, ...signIns } = fakePeople();
  // The services under test call no other peer.
  const peers = { identity, people, groups, edgeUrl } as unknown as AdminPeers;
  const service = createAdminService(readAdminConfig(env), peers, { database }, runtime, {
    consoleFolder: fileURLToPath(new URL('./console', import.meta.url)),
  });
  await service.start();
  const server = createServer(service.adminApp);
  await once(server.listen(atPort, '127.0.0.1'), 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await service[Symbol.asyncDispose]();
    await opened[Symbol.asyncDispose]();
  });
  const { port } = server.address() as AddressInfo;
  const operators = new OperatorStore(database);

  const send = (method: string, path: string, headers: OutgoingHttpHeaders = {}, body = '') =>
    sendTo(port, method, path, headers, body);
  const call = async (method: string, message: object = {}, headers: OutgoingHttpHeaders = {}) => {
    const path = `/gateway.admin.v1.${method.replace('.', '/')}`;
    const sent = await send('POST', path, { 'content-type': 'application/json', ...headers }, JSON.stringify(message));
    return { ...sent, ...codeOf(sent.text) };
  };
  return {
    url: `http://127.0.0.1:${port}`,
    database,
    time,
    metrics,
    service,
    operators,
    ...signIns,
    send,
    call,
    /** A new operator with a token. */
    async operator(role: 'viewer' | 'operator' | 'admin', name: string = role) {
      const token = createTokenText('operator');
      const operator = await operators.add(name, role, token);
      return { token, bearer: { authorization: `Bearer ${token}` }, operatorId: operator?.operator_id ?? '' };
    },
    /** A caller's token that the fake identity service knows. */
    caller(label: string) {
      const token = createTokenText('service');
      const message = { tokenId: label, label, kind: TokenKind.SERVICE, note: 'for operators' };
      callers.set(tokenSha256(token).toString('hex'), message);
      return {
        token,
        change: (fields: MessageInitShape<typeof TokenSchema>) =>
          void callers.set(tokenSha256(token).toString('hex'), { ...message, ...fields }),
      };
    },
    /** Signs in as a browser does. */
    async signIn(token: string): Promise<BrowserSession> {
      const answer = await call('SessionService.SignIn', { token });
      const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0];
      if (cookie === undefined) throw new Error(`could not sign in: ${answer.text}`);
      return { cookie, csrfToken: JSON.parse(answer.text).session.csrfToken };
    },
    async audited() {
      const rows = await database.selectFrom('audit_log').selectAll().orderBy(sql`rowid`).execute();
      return rows.map(({ actor, address, action, subject, outcome, details }) => ({
        ...{ actor, address, action, subject, outcome },
        ...JSON.parse(details),
      }));
    },
  };
}

/** Headers that a browser sends for a request of a page of the console. */
export function asBrowser({ cookie, csrfToken }: BrowserSession): OutgoingHttpHeaders {
  return { cookie, 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-origin' };
}

function identityOf(
  callers: ReadonlyMap<string, MessageInitShape<typeof TokenSchema>>,
): Handlers<typeof IdentityService> {
  return {
    resolve: ({ tokenSha256: digest }) => ({ token: callers.get(Buffer.from(digest).toString('hex')) }),
    list: ({ tokenIds }) => ({
      tokens: [...callers.values()].filter(({ tokenId = '' }) => tokenIds.includes(tokenId)),
    }),
    issue: () => ({}),
    revoke: () => ({}),
    update: () => ({}),
    rotate: () => ({}),
    watchChanges: async function* () {},
  };
}

async function sendTo(
  port: number,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
  body: string,
): Promise<Sent> {
  const sent = request({ host: '127.0.0.1', port, method, path, headers, setHost: headers.host === undefined });
  sent.end(body);
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}

/** Connect's name of the error; empty for a successful answer. */
function codeOf(body: string): { readonly code: string } {
  try {
    return { code: JSON.parse(body).code ?? '' };
  } catch {
    return { code: '' };
  }
}
