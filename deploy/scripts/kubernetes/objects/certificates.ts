import type { ICertificate, IIssuer } from '@kubernetes-models/cert-manager/cert-manager.io/v1';
import { services } from '../services.ts';
import { metadataOf } from './labels.ts';

/** All holders of a certificate: the services, and the collector of metrics. */
export const certificateOwners: readonly string[] = [...services.map(({ name }) => name), 'prometheus'];

/**
 * An authority for this namespace, and a certificate for each of its callers, renewed by
 * cert-manager.
 */
export function certificates(): readonly (IIssuer | ICertificate)[] {
  const [selfSigned, authority] = ['gateway-self-signed', 'gateway-authority'];
  return [
    issuer(selfSigned, { selfSigned: {} }),
    {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: metadataOf(authority),
      spec: {
        isCA: true,
        commonName: authority,
        secretName: authority,
        duration: '87600h',
        renewBefore: '8760h',
        privateKey: { algorithm: 'ECDSA', size: 256, rotationPolicy: 'Never' },
        issuerRef: { name: selfSigned, kind: 'Issuer' },
      },
    },
    issuer(authority, { ca: { secretName: authority } }),
    ...certificateOwners.map((owner) => certificateOf(owner, authority)),
  ];
}

function issuer(name: string, spec: IIssuer['spec']): IIssuer {
  return { apiVersion: 'cert-manager.io/v1', kind: 'Issuer', metadata: metadataOf(name), spec };
}

function certificateOf(owner: string, authority: string): ICertificate {
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: metadataOf(`${owner}-tls`, owner),
    spec: {
      secretName: `${owner}-tls`,
      // Callers check the name that they dial; services read the caller's name from either.
      dnsNames: [owner],
      uris: [`spiffe://model-gateway/${owner}`],
      usages: ['digital signature', 'server auth', 'client auth'],
      duration: '720h',
      renewBefore: '240h',
      privateKey: { algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always' },
      issuerRef: { name: authority, kind: 'Issuer' },
    },
  };
}
