import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, createServer, type Server, type TLSSocket } from 'node:tls';
import { cancelTimer, startInterval, type Timer } from '@gateway/time';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { identityCheck } from '../call-table.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  /** This process's certificate, followed by its chain up to the authority. */
  readonly certFile: string;
  readonly keyFile: string;
  /** The authorities that may issue peers' certificates. */
  readonly caFile: string;
}

export interface TlsOptions extends TlsFiles {
  /**
   * Called when the files have changed and are not usable. The previous certificates stay in use.
   */
  readonly onUnusable?: (problem: Error) => void;
  /** How often the files are read. Default: 10 s. */
  readonly rereadMs?: number;
}

/** The content of the files. */
type Certificates = Readonly<ReturnType<typeof readCertificates>>;

/** Called when a connection is refused because its handshake failed. */
export type OnRefusedConnection = (refusal: { readonly address: string | undefined; readonly problem: string }) => void;

/**
 * The certificates with which a process authenticates itself and verifies its peers. Changed files
 * apply to new connections; open connections stay as they are.
 */
export class Tls implements Disposable {
  readonly #options: TlsOptions;
  readonly #servers = new Set<Pick<Server, 'setSecureContext'>>();
  readonly #timer: Timer;
  #certificates: Certificates;

  /** @throws when the files are not usable; the message says which file, and why. */
  constructor(options: TlsOptions) {
    this.#options = options;
    this.#certificates = readCertificates(options);
    this.#timer = startInterval(() => this.#reread(), options.rereadMs ?? 10_000).unref();
  }

  get certificates(): Certificates {
    return this.#certificates;
  }

  /** When this process's certificate expires. */
  get notAfter(): Date {
    return new X509Certificate(this.#certificates.cert).validToDate;
  }

  /**
   * Credentials for one connection. The peer must have a certificate that stands for `service`,
   * whatever the address it is reached by.
   */
  channelCredentials(service: string): ChannelCredentials {
    const verification = { checkServerIdentity: identityCheck(service) };
    return credentials.createFromSecureContext(createSecureContext(this.#certificates), verification);
  }

  /**
   * A server for HTTP/2 connections from peers with a valid certificate. It reads nothing from
   * other connections.
   */
  createServer(accept: (socket: TLSSocket) => void, onRefused?: OnRefusedConnection): Server {
    const refuse = (socket: TLSSocket, problem: string) => {
      const { remoteAddress, remotePort } = socket;
      onRefused?.({ address: remoteAddress && `${remoteAddress}:${remotePort}`, problem });
      socket.destroy();
    };
    const server = createServer({
      ...this.#certificates,
      requestCert: true,
      // With `true`, Node would not report why it rejects a certificate.
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
      handshakeTimeout: 10_000,
    });
    server.on('secureConnection', (socket) => {
      // A broken connection ends its session, which reports the failure to its calls.
      socket.on('error', () => undefined);
      if (socket.authorized) accept(socket);
      else refuse(socket, problemOf(socket));
    });
    server.on('tlsClientError', ({ message }, socket) => refuse(socket, message));
    this.renew(server);
    return server;
  }

  /** Updates a server's certificates when the files change. */
  renew(server: Pick<Server, 'setSecureContext'>): void {
    this.#servers.add(server);
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }

  #reread(): void {
    try {
      const read = readCertificates(this.#options);
      const { cert, key, ca } = this.#certificates;
      if (read.cert.equals(cert) && read.key.equals(key) && read.ca.equals(ca)) return;
      this.#certificates = read;
      for (const server of this.#servers) server.setSecureContext(read);
    } catch (thrown) {
      // Files that are being replaced may be inconsistent for a moment.
      this.#options.onUnusable?.(thrown as Error);
    }
  }
}

/** Why a peer's certificate is rejected. */
function problemOf(socket: TLSSocket): string {
  const isMissing = socket.getPeerX509Certificate() === undefined;
  return isMissing ? 'it has no certificate' : `its certificate is not valid: ${socket.authorizationError}`;
}

/** @throws when a file can't be read, or key and certificate do not belong together. */
function readCertificates({ certFile, keyFile, caFile }: TlsFiles) {
  const [cert, certificate] = read(certFile, (bytes) => new X509Certificate(bytes));
  const [key, privateKey] = read(keyFile, createPrivateKey);
  const [ca] = read(caFile, (bytes) => new X509Certificate(bytes));
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${keyFile} is not the key of ${certFile}`);
  return { cert, key, ca };
}

function read<T>(file: string, parse: (bytes: Buffer) => T): readonly [Buffer, T] {
  try {
    const bytes = readFileSync(file);
    return [bytes, parse(bytes)];
  } catch (cause) {
    throw new Error(`${file} can't be used: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}
