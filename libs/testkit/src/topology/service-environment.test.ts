import { describe, expect, it } from 'vitest';
import { serviceEnvironment, serviceNames, type TopologyAddresses } from './service-plan.ts';

const addresses: TopologyAddresses = {
  ports: {
    'edge-router': { grpc: 1, admin: 2 },
    'responses-adapter': { grpc: 3, admin: 4 },
    'messages-adapter': { grpc: 5, admin: 6 },
    'usage-ingest': { grpc: 7, admin: 8 },
    limiter: { grpc: 9, admin: 10 },
    'pool-broker': { grpc: 11, admin: 12 },
    identity: { grpc: 13, admin: 14 },
    'usage-query': { grpc: 15, admin: 16 },
  },
  edgePort: 80,
  backends: { redisUrl: 'redis://r', natsUrl: 'nats://n', postgresUrl: 'postgres://p' },
  dataFolder: '/data',
  tokenHashKey: 'key',
};

describe('the settings of the services', () => {
  it('name ports of their own', () => {
    const ports = serviceNames.flatMap((name) => {
      const { GRPC_PORT, ADMIN_PORT } = serviceEnvironment(name, addresses);
      return [GRPC_PORT, ADMIN_PORT];
    });
    expect(new Set(ports).size).toBe(16);
  });

  it('give the edge its peers', () => {
    expect(serviceEnvironment('edge-router', addresses)).toMatchObject({
      PORT: '80',
      LIMITER_URL: 'http://127.0.0.1:9',
      POOL_BROKER_URL: 'http://127.0.0.1:11',
      RESPONSES_ADAPTER_URL: 'http://127.0.0.1:3',
      MESSAGES_ADAPTER_URL: 'http://127.0.0.1:5',
      IDENTITY_URL: 'http://127.0.0.1:13',
      USAGE_QUERY_URL: 'http://127.0.0.1:15',
      NATS_URL: 'nats://n',
    });
  });

  it('give the key of the token hashes to identity alone', () => {
    const holders = serviceNames.filter((name) => 'TOKEN_HASH_KEY' in serviceEnvironment(name, addresses));
    expect(holders).toEqual(['identity']);
  });

  it('name a gateway.yaml only when there is one', () => {
    expect(serviceEnvironment('pool-broker', addresses)).not.toHaveProperty('GATEWAY_CONFIG');
    const withFile = { ...addresses, gatewayConfigFile: '/gateway.yaml' };
    expect(serviceEnvironment('pool-broker', withFile)).toHaveProperty('GATEWAY_CONFIG', '/gateway.yaml');
  });
});
