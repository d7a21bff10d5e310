import { once } from 'node:events';
import { createServer } from 'node:http';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { connectClient } from '@gateway/rpc/connect-client';
import { expect, it } from 'vitest';
import { failureText } from './failures.ts';

it('names the setting when the gateway does not take calls under the name in its address', async () => {
  const server = createServer((_, response) => response.writeHead(403, { 'content-type': 'text/plain' }).end('no'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const refused = await connectClient(IdentityService, `http://127.0.0.1:${port}`)
    .list({}, { timeoutMs: 5_000 })
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  server.close();
  expect(failureText(refused)).toContain('ADMIN_ALLOWED_HOSTS');
});
