import { EnvReader } from '@gateway/config';
import { expect, it } from 'vitest';
import { readAllowedHosts } from './admin-access.ts';

it('reads host names, and names below a domain', () => {
  const reader = new EnvReader({ ADMIN_ALLOWED_HOSTS: ' Identity, .gateway.svc.cluster.local ,ops.example.,' });
  expect(readAllowedHosts(reader)).toEqual(['identity', '.gateway.svc.cluster.local', 'ops.example']);
  reader.done();
});

it.each(['http://identity', 'identity:9090', '*', '*.example', 'a b'])('says what is wrong with %j', (text) => {
  const reader = new EnvReader({ ADMIN_ALLOWED_HOSTS: text });
  readAllowedHosts(reader);
  expect(() => reader.done()).toThrow('without scheme and port');
});
