import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { serviceNames } from '@gateway/testkit';
import { CertificateAuthority, type CertificateFiles } from '@gateway/testkit/certificates';

// Certificates for trying TLS on one machine: an authority, and one certificate for each service
// and Prometheus. The authority's key is not kept: run this again for new ones. In production a
// platform provides them. The default folder is ./data/certificates.
//
//   node deploy/scripts/dev-certificates.ts [folder]

/** The names that get certificates. */
export const holders: readonly string[] = [...serviceNames, 'prometheus'];

export const defaultCertificateFolder = resolve('data/certificates');

/** Writes new certificates, of a new authority unless one is given. */
export async function writeDevCertificates(folder: string, given?: CertificateAuthority): Promise<void> {
  const authority = given ?? (await CertificateAuthority.create('model-gateway development CA'));
  for (const name of holders) {
    await authority.writeFiles(folder, name, { names: [name, 'localhost', '127.0.0.1', '::1'] });
  }
}

/** The certificate files of one holder, with which a service starts. */
export function certificateFiles(folder: string, holder: string): CertificateFiles {
  return {
    certFile: join(folder, `${holder}.crt`),
    keyFile: join(folder, `${holder}.key`),
    caFile: join(folder, 'ca.crt'),
  };
}

/** Environment variables that make a process use them. */
export function tlsEnvironment(folder: string, holder: string) {
  const { certFile, keyFile, caFile } = certificateFiles(folder, holder);
  return { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_CA_FILE: caFile };
}

/** Writes new certificates unless all exist and are valid for another day. */
export async function ensureDevCertificates(folder: string): Promise<void> {
  const dayMs = 24 * 3_600_000;
  const validUntil = holders.map(async (name) =>
    new X509Certificate(await readFile(certificateFiles(folder, name).certFile)).validToDate.getTime(),
  );
  const times = await Promise.all(validUntil).catch(() => []);
  if (times.length === 0 || Math.min(...times) < Date.now() + dayMs) await writeDevCertificates(folder);
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? defaultCertificateFolder);
  await writeDevCertificates(folder);
  process.stdout.write(`Certificates for ${holders.join(', ')} are in ${folder}.\n`);
}
