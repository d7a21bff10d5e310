import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A server whose bytes the test defines. */
export interface RawServer extends AsyncDisposable {
  readonly origin: string;
  /** All its connections so far. */
  readonly sockets: readonly Socket[];
  /** What each connection has received so far, in Latin-1. */
  readonly received: readonly string[];
  /** Called with all bytes of a connection whenever more arrive. */
  onData: (socket: Socket, received: string) => void;
  /** The number of open connections. */
  open(): number;
}

export async function startRawServer(onData: RawServer['onData'] = () => undefined): Promise<RawServer> {
  return await serve(createServer({ noDelay: true }), 'http', onData);
}

export async function serve(server: Server, scheme: 'http' | 'https', onData: RawServer['onData']): Promise<RawServer> {
  const sockets: Socket[] = [];
  const received: string[] = [];
  server.on(scheme === 'https' ? 'secureConnection' : 'connection', (socket: Socket) => {
    const index = sockets.push(socket) - 1;
    received.push('');
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received[index] += bytes.toString('latin1');
      raw.onData(socket, received[index] ?? '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const raw: RawServer = {
    origin: `${scheme}://${scheme === 'https' ? 'localhost' : '127.0.0.1'}:${port}`,
    sockets,
    received,
    onData,
    open: () => sockets.filter((socket) => !socket.destroyed).length,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return raw;
}

/** Gives the same answer to every request, which must have no body or a complete one. */
export function answering(answer: string | Buffer): RawServer['onData'] {
  return (socket) => socket.write(answer);
}
