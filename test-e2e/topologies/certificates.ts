import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';

/** Where the certificates are with which this process is let in by services that speak TLS. A test file has one gateway with them. */
let certificates: string | undefined;
const withoutCertificate = getGlobalDispatcher();

/** From now on `fetch` and the command line show the certificate of the admin service in a folder of `dev-certificates`. */
export function useCertificates(folder: string): void {
  certificates = folder;
  setGlobalDispatcher(new Agent({ connect: operatorCertificate() }));
}

/** Undoes it: the next test file in this process has another gateway. */
export function forgetCertificates(): void {
  certificates = undefined;
  setGlobalDispatcher(withoutCertificate);
}

/** Whose certificates are to be believed, where services speak TLS: what an operator's machine has of them. */
export function trustedAuthority(): Buffer | undefined {
  return certificates === undefined ? undefined : readFileSync(filesOf(certificates)[0]);
}

/** For connections over TLS. */
export function operatorCertificate() {
  if (certificates === undefined) throw new Error('No gateway of this test file speaks TLS.');
  const [ca, cert, key] = filesOf(certificates).map((file) => readFileSync(file));
  return { ca, cert, key };
}

/** What the command line needs to be let in by services that speak TLS. */
export function operatorEnvironment(): Readonly<Record<string, string>> {
  if (certificates === undefined) return {};
  const [TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE] = filesOf(certificates);
  return { TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE };
}

/** For other gRPC clients: what a holder of a certificate proves itself with. Without TLS callers are alike. */
export function grpcCredentials(holder = 'admin'): ChannelCredentials {
  if (certificates === undefined) return credentials.createInsecure();
  const [ca, cert, key] = filesOf(certificates, holder).map((file) => readFileSync(file));
  return credentials.createSsl(ca, key, cert);
}

function filesOf(folder: string, holder = 'admin'): readonly [string, string, string] {
  return [join(folder, 'ca.crt'), join(folder, `${holder}.crt`), join(folder, `${holder}.key`)];
}
