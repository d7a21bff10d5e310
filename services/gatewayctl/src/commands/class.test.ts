import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

it('gatewayctl class list has the candidates of each class', async () => {
  const classes = [{ id: 'gateway/sterk', name: 'Sterk', effort: 'high', candidates: ['a/m', 'b/n'] }];
  const line = new CommandLine((router) =>
    router.service(PoolService, { listPools: () => ({ overview: { classes } }) }),
  );
  expect((await line.run('class', 'list')).lines[1]).toMatch(/^gateway\/sterk +Sterk +high +a\/m, b\/n$/);
});
