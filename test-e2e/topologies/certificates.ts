import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';

/**
 * The folder of the certificates with which services that speak TLS accept this process. A test
 * file has one gateway with them.
 */
let certificates: string | undefined;
const withoutCertificate = getGlobalDispatcher();

/**
 * From now on `fetch` and the command line use the admin service's certificate in a folder of
 * `dev-certificates`.
 */
export function useCertificates(folder: string): void {
  certificates = folder;
  setGlobalDispatcher(new Agent({ connect: operatorCertificate() }));
}

/** Undoes it: the next test file in this process has another gateway. */
export function forgetCertificates(): void {
  certificates = undefined;
  setGlobalDispatcher(withoutCertificate);
}

/** The trusted authority, if services speak TLS: the file that an operator's machine has. */
export function trustedAuthority(): Buffer | undefined {
  return certificates === undefined ? undefined : readFileSync(filesOf(certificates)[0]);
}

/** For connections over TLS. */
export function operatorCertificate() {
  if (certificates === undefined) throw new Error('No gateway of this test file speaks TLS.');
  const [ca, cert, key] = filesOf(certificates).map((file) => readFileSync(file));
  return { ca, cert, key };
}

/** The command line's settings for services that speak TLS. */
export function operatorEnvironment(): Readonly<Record<string, string>> {
  if (certificates === undefined) return {};
  const [TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE] = filesOf(certificates);
  return { TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE };
}

/**
 * Credentials for other gRPC clients: the certificate of a holder. Without TLS all callers are the
 * same.
 */
export function grpcCredentials(holder = 'admin'): ChannelCredentials {
  if (certificates === undefined) return credentials.createInsecure();
  const [ca, cert, key] = filesOf(certificates, holder).map((file) => readFileSync(file));
  return credentials.createSsl(ca, key, cert);
}

function filesOf(folder: string, holder = 'admin'): readonly [string, string, string] {
  return [join(folder, 'ca.crt'), join(folder, `${holder}.crt`), join(folder, `${holder}.key`)];
}
