import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { CertificateAuthority } from './certificates.ts';

it('issues certificates for names, addresses and URIs, that its own certificate verifies and another authority does not', async () => {
  const [authority, other] = await Promise.all([CertificateAuthority.create(), CertificateAuthority.create()]);
  const names = ['limiter', '127.0.0.1', 'spiffe://example.org/limiter'];
  const { certPem } = await authority.issue({ names, notAfter: new Date('2030-01-01') });
  const certificate = new X509Certificate(certPem);
  expect(certificate.subjectAltName).toBe('DNS:limiter, IP Address:127.0.0.1, URI:spiffe://example.org/limiter');
  expect(certificate.validToDate).toEqual(new Date('2030-01-01'));
  expect(certificate.verify(new X509Certificate(authority.certificatePem).publicKey)).toBe(true);
  expect(certificate.verify(new X509Certificate(other.certificatePem).publicKey)).toBe(false);
});
