import { connect as connectPlain, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecure } from 'node:tls';
import type { Origin } from './origin.ts';

/** What connections to one origin share. */
export interface OriginSessions {
  /** The last TLS session, with which the next handshake is shorter. */
  session: Buffer | undefined;
}

export interface SocketEvents {
  /** Usable, for TLS after the handshake. */
  onOpen(): void;
  /** The bytes belong to whom is told. */
  onRead(bytes: Buffer): void;
  /** The other side sends no more. */
  onEnd(): void;
  onError(error: Error): void;
  onClose(): void;
}

/** A connection in the making. Node's certificates hold, those of NODE_EXTRA_CA_CERTS too. */
export function openSocket(origin: Origin, sessions: OriginSessions, events: SocketEvents): Socket {
  const socket = origin.isSecure ? openSecure(origin, sessions, events) : openPlain(origin, events);
  socket.setKeepAlive(true, probeAfterMs);
  return socket
    .once(origin.isSecure ? 'secureConnect' : 'connect', () => events.onOpen())
    .on('end', () => events.onEnd())
    .on('error', (error) => events.onError(error))
    .on('close', () => events.onClose());
}

const probeAfterMs = 60_000;

function openPlain({ hostname: host, port }: Origin, events: SocketEvents): Socket {
  return connectPlain({ host, port, noDelay: true, onread: ownedReads(events) });
}

function openSecure(
  { hostname: host, port, serverName }: Origin,
  sessions: OriginSessions,
  events: SocketEvents,
): Socket {
  const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
    host,
    port,
    ALPNProtocols: ['http/1.1'],
    onread: ownedReads(events),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(sessions.session === undefined ? {} : { session: sessions.session }),
  };
  const socket = connectSecure(options);
  socket.setNoDelay(true);
  return socket.on('session', (session) => {
    sessions.session = session;
  });
}

/**
 * All sockets read into the same memory, and what a read has brought is copied out of it at once: a read that brings its own
 * has room for 64 KiB made, and given back, whatever little it brings.
 */
function ownedReads(events: SocketEvents): OnReadOpts {
  return {
    buffer: readBuffer,
    callback: (length) => {
      const bytes = Buffer.allocUnsafe(length);
      readBuffer.copy(bytes, 0, 0, length);
      events.onRead(bytes);
      return true;
    },
  };
}

const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);
