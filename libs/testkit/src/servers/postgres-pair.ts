import { chmod } from 'node:fs/promises';
import { roomMs } from '../room/room.ts';
import { runProgram, type Server, startServerProcess, type TestServer } from './run-server.ts';
import { postgres, runStatement, unprivileged } from './servers.ts';

/** A Postgres primary and its standby. */
export interface PostgresPair extends AsyncDisposable {
  readonly primary: TestServer;
  readonly standby: TestServer;
  /** One database through both servers: a DATABASE_URL with two hosts. */
  url(database: string): string;
  /** Promotes the standby, as an operator or a controller does when the primary is lost. */
  promote(): Promise<void>;
}

export interface PostgresPairOptions {
  /** A commit waits until the standby has it too. Default: it waits for the primary only. */
  readonly synchronous?: boolean;
}

/** Starts a primary and a standby that streams from it. */
export async function startPostgresPair({ synchronous = false }: PostgresPairOptions = {}): Promise<PostgresPair> {
  await using stack = new AsyncDisposableStack();
  const server: Server = { ...postgres(), name: 'postgres-pair', programs: ['postgres', 'initdb', 'pg_basebackup'] };
  const primary = stack.use(
    await startServerProcess({
      ...server,
      parameters: (port, dataDir) => [
        ...server.parameters(port, dataDir),
        ...(synchronous ? ['-c', 'synchronous_standby_names=*'] : []),
      ],
    }),
  );
  const standby = stack.use(await startServerProcess({ ...server, prepare: copyOf(primary.port) }));
  const open = stack.move();
  return {
    primary,
    standby,
    url: (database) => `postgresql://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/${database}`,
    promote: () => runStatement(standby.url, 'select pg_promote(true, 60)', roomMs(10_000)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Copies the primary's data, with the settings of a standby. */
function copyOf(primaryPort: number): NonNullable<Server['prepare']> {
  return async (programs, dataDir) => {
    await chmod(dataDir, 0o700);
    const source = ['--host=127.0.0.1', `--port=${primaryPort}`, '--username=postgres'];
    const how = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync'];
    const parameters = [...source, ...how, `--pgdata=${dataDir}`];
    await runProgram(programs, 'pg_basebackup', parameters, { ...unprivileged, cwd: dataDir, timeout: roomMs(60_000) });
  };
}
