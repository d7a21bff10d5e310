import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type GeneralNameType,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** PEM files for TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

export interface CertificateRequest {
  /** DNS names, addresses, and URIs such as `spiffe://example.org/limiter`. */
  readonly names: readonly string[];
  /** Default: one hour ago. */
  readonly notBefore?: Date;
  /** Default: in 30 days. */
  readonly notAfter?: Date;
}

/** Signs certificates for tests and for trying TLS. Its key exists in memory only. */
export class CertificateAuthority {
  readonly #certificate: X509Certificate;
  readonly #keys: webcrypto.CryptoKeyPair;

  static async create(name = 'gateway test CA'): Promise<CertificateAuthority> {
    const keys = await newKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      ...validity({}),
      keys,
      signingAlgorithm,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new CertificateAuthority(certificate, keys);
  }

  private constructor(certificate: X509Certificate, keys: webcrypto.CryptoKeyPair) {
    this.#certificate = certificate;
    this.#keys = keys;
  }

  get certificatePem(): string {
    return `${this.#certificate.toString('pem')}\n`;
  }

  /** Issues a certificate for both server and client, with its key. */
  async issue(request: CertificateRequest): Promise<{ readonly certPem: string; readonly keyPem: string }> {
    const keys = await newKeys();
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${request.names[0]?.replace(/[^\w.-]/g, '-')}`,
      issuer: this.#certificate.subject,
      ...validity(request),
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        new SubjectAlternativeNameExtension(request.names.map((value) => ({ type: typeOf(value), value }))),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
        await AuthorityKeyIdentifierExtension.create(this.#certificate),
      ],
    });
    const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
    return { certPem: certificate.toString('pem'), keyPem: PemConverter.encode(key, 'PRIVATE KEY') };
  }

  /** Writes `<folder>/<name>.crt`, `<name>.key` and `ca.crt`, replacing existing files. */
  async writeFiles(folder: string, name: string, request: CertificateRequest): Promise<CertificateFiles> {
    const { certPem, keyPem } = await this.issue(request);
    const files = {
      certFile: join(folder, `${name}.crt`),
      keyFile: join(folder, `${name}.key`),
      caFile: join(folder, 'ca.crt'),
    };
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await Promise.all([
      writeFile(files.certFile, certPem),
      writeFile(files.keyFile, keyPem, { mode: 0o600 }),
      writeFile(files.caFile, this.certificatePem),
    ]);
    return files;
  }
}

const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
}

const dayMs = 24 * 3_600_000;

function validity({ notBefore, notAfter }: Partial<CertificateRequest>) {
  const nowMs = Date.now();
  return {
    notBefore: notBefore ?? new Date(nowMs - dayMs / 24),
    notAfter: notAfter ?? new Date(nowMs + 30 * dayMs),
  };
}

function typeOf(name: string): GeneralNameType {
  if (name.includes('://')) return 'url';
  return isIP(name) === 0 ? 'dns' : 'ip';
}
