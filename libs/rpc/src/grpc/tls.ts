import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { identityCheck } from '../call-table.ts';

/** Paths of files in PEM. */
export interface TlsFiles {
  /** This process' certificate, followed by those that lead from it to the authority. */
  readonly certFile: string;
  readonly keyFile: string;
  /** The authorities that peers' certificates may come from. */
  readonly caFile: string;
}

export interface TlsOptions extends TlsFiles {
  /** The files have changed to what can't be used. What they held before stays in use. */
  readonly onUnusable?: (problem: Error) => void;
  /** How often the files are read. Default: 10 s. */
  readonly rereadMs?: number;
}

/** What the files hold. */
export interface Certificates {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
}

/**
 * What a process proves itself with, and knows its peers by. Files that change are used for new connections; open ones
 * go on as they are.
 */
export class Tls implements Disposable {
  readonly #options: TlsOptions;
  readonly #listeners = new Set<(certificates: Certificates) => void>();
  readonly #timer: NodeJS.Timeout;
  #certificates: Certificates;

  /** @throws when the files can't be used; the message says which, and why. */
  constructor(options: TlsOptions) {
    this.#options = options;
    this.#certificates = readCertificates(options);
    this.#timer = setInterval(() => this.#reread(), options.rereadMs ?? 10_000).unref();
  }

  get certificates(): Certificates {
    return this.#certificates;
  }

  /** For servers: what they are to use from now on. */
  onChange(listener: (certificates: Certificates) => void): void {
    this.#listeners.add(listener);
  }

  /** For one connection. The peer must have a certificate that speaks for `service`, by whatever name or address it is reached. */
  channelCredentials(service: string): ChannelCredentials {
    const verification = { checkServerIdentity: identityCheck(service) };
    return credentials.createFromSecureContext(createSecureContext(this.#certificates), verification);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #reread(): void {
    try {
      const read = readCertificates(this.#options);
      const { cert, key, ca } = this.#certificates;
      if (read.cert.equals(cert) && read.key.equals(key) && read.ca.equals(ca)) return;
      this.#certificates = read;
      for (const listener of this.#listeners) listener(read);
    } catch (thrown) {
      // Files that are being replaced may not fit together for a moment.
      this.#options.onUnusable?.(thrown as Error);
    }
  }
}

/** @throws when a file can't be read, or key and certificate do not belong together. */
function readCertificates({ certFile, keyFile, caFile }: TlsFiles): Certificates {
  const cert = read(certFile, (bytes) => new X509Certificate(bytes));
  const key = read(keyFile, createPrivateKey);
  const ca = read(caFile, (bytes) => new X509Certificate(bytes));
  if (!cert.parsed.checkPrivateKey(key.parsed)) throw new Error(`${keyFile} is not the key of ${certFile}`);
  return { cert: cert.bytes, key: key.bytes, ca: ca.bytes };
}

function read<T>(file: string, parse: (bytes: Buffer) => T): { readonly bytes: Buffer; readonly parsed: T } {
  try {
    const bytes = readFileSync(file);
    return { bytes, parsed: parse(bytes) };
  } catch (cause) {
    throw new Error(`${file} can't be used: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}
