import { EnvReader } from '@gateway/config';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import { fieldsOf, peer, rpcWorld } from '../__fixtures__/rpc-world.ts';
import { configurationService } from './configuration-service.ts';

const poolOperator = peer(PoolOperatorService, {
  getGatewayFile: () => ({ file: { path: '/etc/gateway.yaml', currency: 'EUR' } }),
  checkGatewayFile: ({ text }) => ({ changes: [`~ ${text}`] }),
});

describe('the configuration', () => {
  it("is the broker's file and the settings of the process, without secrets", async () => {
    const { client } = await rpcWorld(ConfigurationService, configurationService, { poolOperator });
    const reader = new EnvReader({ CS_SECRET: 'canary', CS_COUNT: '3' });
    reader.optional('CS_SECRET');
    reader.integer('CS_COUNT', 1);
    const { file, settings } = await client.getConfiguration({});
    expect(file).toMatchObject({ path: '/etc/gateway.yaml', currency: 'EUR' });
    expect(settings.filter(({ name }) => name.startsWith('CS_'))).toMatchObject([
      { service: 'admin', name: 'CS_COUNT', value: '3', origin: 'environment' },
      { service: 'admin', name: 'CS_SECRET', value: '(set)', origin: 'environment' },
    ]);
  });

  it('is checked by the broker, where there is something to check', async () => {
    const { client } = await rpcWorld(ConfigurationService, configurationService, { poolOperator });
    expect(await client.checkConfiguration({ text: 'a' })).toMatchObject({ problems: [], changes: ['~ a'] });
    expect(Object.keys(await fieldsOf(client.checkConfiguration({ text: ' ' })))).toEqual(['text']);
  });
});
