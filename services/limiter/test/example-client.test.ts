import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { GrpcServer } from '@gateway/rpc/grpc';
import { testBackends } from '@gateway/testkit';
import { expect, it } from 'vitest';
import { startLimiter } from './limiter-under-test.ts';

const example = fileURLToPath(new URL('../../../docs/examples/limiter-client.ts', import.meta.url));

it('the example client works as its documentation says', async () => {
  await using limiter = await startLimiter((await testBackends()).redisUrl);
  const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes: limiter.service.routes });
  const { stdout } = await promisify(execFile)(process.execPath, [example, `127.0.0.1:${server.port}`]);
  await server.stop(1_000);
  expect(stdout.split('\n')).toEqual([
    'admitted, 4 of 5 left',
    'admitted, 3 of 5 left',
    'admitted, 2 of 5 left',
    'admitted, 1 of 5 left',
    'admitted, 0 of 5 left',
    expect.stringMatching(/^refused by LIMIT_NAME_REQUESTS_PER_MINUTE, free again in (59|60) s$/),
    expect.stringMatching(/^used on \d{4}-\d\d-\d\d: 1234 tokens$/),
    'in a batch: admitted, 4 of 5 left',
    'in a batch: admitted, 4 of 5 left',
    'in a batch: admitted, 4 of 5 left',
    '',
  ]);
});
