import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of a Redis, which a test can break in several ways. */
export interface RedisProxy extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** How many answers `cutNextAnswer` has lost. */
  readonly cuts: number;
  /** The server executes the next command, and the connection breaks before its answer. */
  cutNextAnswer(): void;
  /**
   * With true, the server executes all commands but no answer arrives; with false, connections
   * break and new ones work.
   */
  loseAnswers(lose: boolean): void;
  /** With true, breaks all connections and refuses new ones; with false, accepts new ones again. */
  cut(isCut: boolean): void;
  /** Breaks all connections; new ones lead to this server. */
  switchTo(serverUrl: string): void;
}

export async function redisProxy(serverUrl: string): Promise<RedisProxy> {
  let target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const state = { cutsNext: false, losesAnswers: false, isCut: false, cuts: 0 };
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (state.isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    tieTogether(client, upstream, sockets);
    client.pipe(upstream);
    upstream.on('data', (answer) => {
      if (state.losesAnswers) return;
      if (!state.cutsNext) {
        client.write(answer);
        return;
      }
      state.cutsNext = false;
      state.cuts += 1;
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get cuts() {
      return state.cuts;
    },
    cutNextAnswer() {
      state.cutsNext = true;
    },
    loseAnswers(lose) {
      state.losesAnswers = lose;
      // A connection must not continue with an answer missing.
      if (!lose) breakAll();
    },
    cut(isCut) {
      state.isCut = isCut;
      if (isCut) breakAll();
    },
    switchTo(url) {
      target = new URL(url);
      breakAll();
    },
    async [Symbol.asyncDispose]() {
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}

/** When one side closes, so does the other. */
function tieTogether(client: Socket, upstream: Socket, sockets: Set<Socket>): void {
  for (const socket of [client, upstream]) {
    sockets.add(socket);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
  }
}
