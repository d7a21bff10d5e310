import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startSimulator } from '@gateway/simulator';
import { freePorts, ManagedProcess, startPostgres } from '@gateway/testkit';

// Keeps the databases of a release for tests of upgrades. Runs this version on SQLite and on
// Postgres, uses it a little, and writes both databases as SQL, with the token and the keys they
// were made with. Needs Postgres' pg_dump. It is a step of a release: docs/operate/releases.md.
//
//   node deploy/release/schema-fixture.ts <version>

const root = join(import.meta.dirname, '../..');
const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version))
  throw new Error('Give the version: npx node deploy/release/schema-fixture.ts 0.2.0');

/** Keys that only decrypt these fixtures. */
const keys = {
  TOKEN_HASH_KEY: Buffer.alloc(32, 'upgrade').toString('base64'),
  ACCOUNT_KEYS: `k1:${Buffer.alloc(32, 'upgrade').toString('base64')}`,
};
const target = join(root, 'libs/database/test/__fixtures__', version);
await mkdir(target, { recursive: true });

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), 'gateway-fixture-'));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const simulator = stack.use(await startSimulator());
const postgres = stack.use(await startPostgres());

const tokens = {
  sqlite: await useGateway('sqlite', {}),
  postgres: await useGateway('postgres', { DATABASE_URL: postgres.url }),
};
await writeFile(join(target, 'sqlite.sql'), sqliteDump(join(folder, 'sqlite/gateway.sqlite')));
await writeFile(join(target, 'postgres.sql'), await postgresDump(postgres.url));
await writeFile(join(target, 'keys.json'), `${JSON.stringify({ keys, tokens }, undefined, 2)}\n`);
process.stdout.write(`The databases of ${version} are in ${target}.\n`);

/** Leaves rows in every table. Returns the token that stays valid. */
async function useGateway(name: string, database: Readonly<Record<string, string>>): Promise<string> {
  const [port, adminPort] = await freePorts(2);
  const { PATH, HOME } = process.env;
  const env = {
    ...{ PATH, HOME, ...keys, ...database },
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    GATEWAY_ADMIN_URL: `http://127.0.0.1:${adminPort}`,
    GATEWAY_DATA: join(folder, name),
    GATEWAY_CONFIG: join(root, 'deploy/docker/gateway.yaml'),
    SIMULATOR_URL: simulator.url,
  };
  const program = join(root, 'services/gatewayctl/src/main.ts');
  const command = async (parameters: readonly string[], input = '') => {
    const running = promisify(execFile)(process.execPath, [program, ...parameters], { cwd: root, env });
    running.child.stdin?.end(input);
    return (await running).stdout.trim();
  };
  await using gateway = new ManagedProcess({
    name: 'gateway',
    ...{ command: process.execPath, parameters: [program, 'start'], env, cwd: root },
    ...{ stopSignal: 'SIGTERM', stopTimeoutMs: 20_000 },
    ping: async () => {
      const { ok } = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
      if (!ok) throw new Error('not ready yet');
    },
  });
  await command(['migrate']);
  await gateway.restart();
  const token = await command([
    'token',
    'create',
    '--kind',
    'service',
    '--label',
    'kept',
    '--rpm',
    '600',
    '--tpd',
    '1000000',
  ]);
  await command(['token', 'create', '--kind', 'personal', '--label', 'unused']);
  await command(['account', 'add', 'responses/kept'], 'a-secret-of-no-account');
  await command(['account', 'drain', 'responses/kept']);
  const authorization = `Bearer ${token}`;
  const baseUrl = `http://127.0.0.1:${port}`;
  const messages = [{ role: 'user', content: 'Hello there' }];
  for (const model of ['gateway/sterk', 'gateway/claude', 'gateway/none']) {
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ model, messages }) },
    });
    await answer.text();
  }
  for (let requests = 0; requests < 2; await sleep(100)) {
    const usage = await fetch(`${baseUrl}/v1/usage`, { headers: { authorization } });
    ({ requests } = ((await usage.json()) as { readonly today: { readonly requests: number } }).today);
  }
  // The request log is written a moment later.
  await sleep(3_000);
  await gateway.stop();
  return token;
}

/** Tables and indexes as they were created, and every row with the names of its columns. */
function sqliteDump(file: string): string {
  using database = new DatabaseSync(file);
  const objects = database
    .prepare(
      "select name, type, sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by type desc, name",
    )
    .all() as { readonly name: string; readonly type: string; readonly sql: string }[];
  const rows = objects
    .filter(({ type }) => type === 'table')
    .flatMap(({ name }) =>
      database
        .prepare(`select * from "${name}"`)
        .all()
        .map((row) => {
          const values = Object.values(row).map((value) =>
            typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value),
          );
          return `INSERT INTO ${name} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')});`;
        }),
    );
  return `${[...objects.map(({ sql }) => `${sql.trim()};`), ...rows].join('\n')}\n`;
}

/** The output of pg_dump, without commands that only its own client understands. */
async function postgresDump(url: string): Promise<string> {
  const [program = 'pg_dump'] = globSync('/usr/lib/postgresql/*/bin/pg_dump').toSorted().reverse();
  const parameters = [
    '--no-owner',
    '--no-privileges',
    '--column-inserts',
    '--load-via-partition-root',
    `--dbname=${url}`,
  ];
  const { stdout } = await promisify(execFile)(program, parameters);
  const lines = stdout.split('\n').filter((line) => !/^(--|\\|SET |SELECT pg_catalog\.set_config|$)/.test(line));
  return `${lines.join('\n').replaceAll('public.', '')}\n`;
}
