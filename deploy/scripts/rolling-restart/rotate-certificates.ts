import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { holders, writeDevCertificates } from '../dev-certificates.ts';

/**
 * Replaces the authority and every certificate while processes use them, in the order that breaks
 * no connection. First both authorities are trusted, then certificates of the new one are used,
 * then the old one is removed.
 */
export async function rotateCertificates(folder: string, onStep: (text: string) => void): Promise<void> {
  const authority = await CertificateAuthority.create('model-gateway development CA, the next one');
  const next = join(folder, 'next');
  const trusted = join(folder, 'ca.crt');
  await writeDevCertificates(next, authority);

  onStep('certificates: both the old and the new authority are trusted');
  await replace(trusted, `${await readFile(trusted, 'utf8')}\n${authority.certificatePem}`);
  await sleep(rereadMs);
  onStep('certificates: every process gets a certificate of the new authority');
  for (const name of holders) {
    await rename(join(next, `${name}.key`), join(folder, `${name}.key`));
    await rename(join(next, `${name}.crt`), join(folder, `${name}.crt`));
  }
  await sleep(rereadMs);
  onStep('certificates: the old authority is no longer trusted');
  await replace(trusted, authority.certificatePem);
  await sleep(rereadMs);
}

/** Services read their files every ten seconds. */
const rereadMs = 12_000;

/** Readers see the old text or the new one, never a part. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
