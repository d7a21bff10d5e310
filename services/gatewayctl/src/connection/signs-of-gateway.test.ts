import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataFolder } from '@gateway/all-in-one/data-folder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exitCodeOf, failureText } from '../failure-text.ts';
import { UsageError } from '../failures.ts';
import { connectTo } from './admin-connection.ts';

/** Servers that may listen on a port. */
const listeners = {
  nothing: undefined,
  gateway: () => createServer(asGateway),
  'another program': () => createServer((_request, response) => void response.writeHead(404).end('no such page')),
  'an API with keys of its own': () =>
    createServer((_request, response) => void response.writeHead(401).end('{"error":{"code":"invalid_api_key"}}')),
  'a program that speaks no HTTP': () =>
    createTcpServer(
      (socket) =>
        void socket
          .on('error', () => {})
          .resume()
          .end('220 ready\r\n'),
    ),
} satisfies Record<string, (() => Server) | undefined>;

const asGateway: RequestListener = ({ url }, response) => {
  if (url === '/livez') return void response.end('ok');
  const refusal = { error: { code: 'unauthorized', message: 'The token is missing or malformed.' } };
  response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(refusal));
};

type Listener = keyof typeof listeners;

const names = Object.keys(listeners) as readonly Listener[];
const cases = names.flatMap((admin) =>
  names.flatMap((edge) => [false, true].map((isFolderTaken) => ({ admin, edge, isFolderTaken }))),
);

describe('a command without an address', () => {
  let folder: string;
  let stack: AsyncDisposableStack;
  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    folder = await mkdtemp(join(tmpdir(), 'gatewayctl-signs-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
  });
  afterEach(() => stack.disposeAsync());

  const portOf = async (listener: Listener): Promise<string> => {
    const server = (listeners[listener] ?? createServer)().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    if (listener === 'nothing') await close();
    else stack.defer(close);
    return String(port);
  };
  const shell = async ({ admin, edge }: { readonly admin: Listener; readonly edge: Listener }) => ({
    ADMIN_PORT: await portOf(admin),
    PORT: await portOf(edge),
    GATEWAY_DATA: join(folder, 'data'),
  });

  it.each(cases)(
    'uses the gateway that answers, and a database only if there can be none: $admin, $edge, $isFolderTaken',
    async ({ admin, edge, isFolderTaken }) => {
      const env = await shell({ admin, edge });
      if (isFolderTaken) stack.use(await (await DataFolder.open(env)).claim());
      const connected: unknown = await connectTo(env)().then(
        async (connection) => {
          await connection[Symbol.asyncDispose]();
          return connection.database === undefined ? 'gateway' : 'database';
        },
        (thrown: unknown) => [exitCodeOf(thrown), failureText(thrown, '')],
      );
      const refused = (says: RegExp) => [1, expect.stringMatching(says)];
      if (admin === 'gateway') expect(connected).toBe('gateway');
      else if (admin === 'a program that speaks no HTTP') expect(connected).toEqual(refused(/does not respond/));
      else if (isFolderTaken) expect(connected).toEqual(refused(/gateway \(process \d+ on .*\) uses the folder/));
      else if (edge === 'gateway') expect(connected).toEqual(refused(/a gateway responds at .*GATEWAY_ADMIN_URL/));
      else expect(connected).toBe('database');
      if (Array.isArray(connected) && !isFolderTaken) expect(await readdir(folder)).toEqual([]);
    },
  );

  it('uses the database beside a running gateway with --offline, wherever that gateway is', async () => {
    const env = await shell({ admin: 'gateway', edge: 'gateway' });
    stack.use(await (await DataFolder.open(env)).claim());
    for (const named of [{}, { GATEWAY_ADMIN_URL: `http://127.0.0.1:${env.ADMIN_PORT}` }]) {
      await using connection = await connectTo({ ...env, ...named })({ offline: true });
      expect(connection.database?.description).toContain(join(folder, 'data'));
    }
  });

  it('cannot ask a running gateway offline', async () => {
    await expect(connectTo({})({ running: true, offline: true })).rejects.toThrow(UsageError);
  });
});

describe('the lock of a folder', () => {
  it('can be taken while others check it, and is visible while it is held', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatewayctl-lock-'));
    const env = { GATEWAY_DATA: folder };
    const data = await DataFolder.open(env);
    expect(await DataFolder.ownerOf({ GATEWAY_DATA: join(folder, 'none') })).toBeUndefined();
    const looks = Array.from({ length: 20 }, () => DataFolder.ownerOf(env));
    {
      using _lock = await data.claim();
      expect(await DataFolder.ownerOf(env)).toMatchObject({ name: expect.stringContaining(`${process.pid}`) });
    }
    await Promise.all(looks);
    expect(await DataFolder.ownerOf(env)).toBeUndefined();
    await rm(folder, { recursive: true });
  });
});
