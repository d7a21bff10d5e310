import { expect, it } from 'vitest';
import { readAdminAddress } from './admin-address.ts';
import { readGatewayUrl } from './person-session.ts';
import { safeAddress } from './safe-address.ts';

it.each([
  'https://gateway.example',
  'http://127.0.0.1:9090',
  'http://127.1.2.3',
  'http://0x7f.1:9090',
  'http://[::1]:9090',
  'http://localhost:9090',
  'http://admin.localhost',
])('sends keys to %s', (url) => {
  expect(safeAddress('X', url, {})).toBe(url);
});

it.each([
  'http://gateway.example',
  'http://10.0.0.1:9090',
  'http://127.0.0.1.example',
  'http://localhost.example',
  'http://[::2]',
  'http://128.0.0.1',
])('sends no key to %s unless an operator says so', (url) => {
  expect(() => safeAddress('X', url, {})).toThrow(/^X: keys would go to .* unencrypted\. Use https:\/\//);
  expect(safeAddress('X', url, { ALLOW_PLAINTEXT: 'true' })).toBe(url);
  expect(() => readAdminAddress({ GATEWAY_ADMIN_URL: url })).toThrow('GATEWAY_ADMIN_URL: keys would go to');
  expect(() => readGatewayUrl({ GATEWAY_URL: url })).toThrow('GATEWAY_URL: keys would go to');
  expect(readAdminAddress({ GATEWAY_ADMIN_URL: url, ALLOW_PLAINTEXT: 'true' }).isNamed).toBe(true);
});
