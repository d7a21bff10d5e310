import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkAdapterSettings } from '@gateway/adapter-kit';
import { readAdminProcessConfig } from '@gateway/admin/config';
import { readDatabaseUrl } from '@gateway/all-in-one/gateway-database';
import { defaultGatewayConfig, type Environment, readSettings } from '@gateway/config';
import { readEdgeRouterConfig, readEdgeRouterPeerUrls } from '@gateway/edge-router/config';
import { readIdentityProcessConfig } from '@gateway/identity/config';
import { checkExposure, readProcessConfig } from '@gateway/lifecycle';
import { readStandAloneLimiterConfig } from '@gateway/limiter/config';
import { readPoolBrokerConfig, readRequiredKeys } from '@gateway/pool-broker/config';
import { serviceNames } from '@gateway/testkit';
import { readUsageIngestProcessConfig } from '@gateway/usage-ingest/config';
import { readUsageQueryProcessConfig } from '@gateway/usage-query/config';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { environmentOf, readCompose } from './compose-file.ts';

type Read = (env: Environment) => unknown;

/** The settings that each container reads at its start: those of its `main.ts`. */
const readers: Readonly<Record<string, readonly Read[]>> = {
  'edge-router': [readProcessConfig, withoutGrpc, readEdgeRouterConfig, readEdgeRouterPeerUrls],
  limiter: [readProcessConfig, withGrpc, readStandAloneLimiterConfig],
  // The last one has the keys that an operator's own gateway.yaml may name.
  'pool-broker': [readProcessConfig, withGrpc, readPoolBrokerConfig, readRequiredKeys, defaultGatewayConfig],
  'responses-adapter': [readProcessConfig, withGrpc, checkAdapterSettings],
  'messages-adapter': [readProcessConfig, withGrpc, checkAdapterSettings],
  identity: [readProcessConfig, withGrpc, readIdentityProcessConfig],
  'usage-ingest': [readProcessConfig, withGrpc, readUsageIngestProcessConfig],
  'usage-query': [readProcessConfig, withGrpc, readUsageQueryProcessConfig],
  admin: [readProcessConfig, withoutGrpc, readAdminProcessConfig],
  migrate: [readDatabaseUrl],
  gatewayctl: [readAdminAddress],
};

/** Services of the profile `observability`. */
const observers = ['prometheus', 'grafana', 'collector'];
const root = fileURLToPath(new URL('../..', import.meta.url));
const prometheusFile = 'deploy/observability/prometheus/prometheus.yaml';
const scrapeConfigSchema = z.object({
  scrape_configs: z.array(z.object({ job_name: z.string(), static_configs: z.array(z.unknown()) })),
});

const compose = readCompose();
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image.startsWith('model-gateway'));

describe('docker-compose.yml', () => {
  it('has every service', () => {
    expect(serviceNames.filter((name) => compose.services[name] === undefined)).toEqual([]);
    expect(ours.map(([name]) => name).toSorted()).toEqual([...Object.keys(readers), 'simulator'].toSorted());
  });

  it.each(Object.keys(readers))('gives %s all settings that it needs, and none that it does not know', (name) => {
    const service = compose.services[name];
    const env = service === undefined ? {} : environmentOf(service);
    const asked = new Set<string>();
    const recording: Environment = new Proxy(env, {
      get: (target, key) => {
        asked.add(String(key));
        return target[String(key)];
      },
    });
    for (const read of readers[name] ?? []) read(recording);
    const unknown = Object.keys(env).filter((setting) => !asked.has(setting));
    // OpenTelemetry reads its own variables.
    expect(unknown.filter((setting) => !setting.startsWith('OTEL_'))).toEqual([]);
  });

  it.each([
    ['admin', 'ADMIN_TOKEN'],
    ['identity', 'TOKEN_HASH_KEY'],
    ['pool-broker', 'ACCOUNT_KEYS'],
  ])('has %s refuse the %s of .env.example where things are not tried out', (name, setting) => {
    const env = { ...environmentOf(service(name)), ALLOW_DEVELOPMENT_SECRETS: 'false' };
    expect(() => readers[name]?.forEach((read) => void read(env))).toThrow(
      `${setting} is the public one of deploy/docker/`,
    );
  });

  it('lets the broker keep accounts in the database', () => {
    expect(readPoolBrokerConfig(environmentOf(service('pool-broker')))).toMatchObject({
      databaseUrl: expect.stringContaining('@postgres:5432/'),
      credentials: { keys: [expect.anything()] },
    });
  });

  it('names only hosts that the service reaches, on the ports that they serve', () => {
    const unreachable = ours.flatMap(([name, { environment, networks }]) =>
      Object.entries(environment)
        .filter(([setting]) => setting.endsWith('_URL'))
        .filter(([setting, value]) => {
          const { hostname, port } = new URL(value);
          const peer = compose.services[hostname];
          const isShared = peer?.networks.some((network) => networks.includes(network)) ?? false;
          const { GRPC_PORT, ADMIN_PORT, CREDENTIAL_PORT, PORT } = peer?.environment ?? {};
          const isAdmin = hostname === 'admin';
          const named: Readonly<Record<string, string | undefined>> = {
            CREDENTIAL_URL: CREDENTIAL_PORT,
            EDGE_URL: PORT,
          };
          const own = [setting in named ? named[setting] : isAdmin ? ADMIN_PORT : GRPC_PORT];
          return !isShared || (GRPC_PORT !== undefined && !own.includes(port));
        })
        .map(([setting, value]) => `${name}: ${setting}=${value}`),
    );
    expect(unreachable).toEqual([]);
  });

  it('has the admin service read the metrics of every service, where it reaches them', () => {
    const { METRICS_URLS = '' } = service('admin').environment;
    const read = METRICS_URLS.split(',').map((entry) => entry.split('='));
    expect(read.map(([name]) => name).toSorted()).toEqual([...serviceNames].toSorted());
    for (const [name = '', url] of read) {
      expect(url).toBe(`http://${name}:${service(name).environment.ADMIN_PORT}`);
      expect(
        service(name).networks.some((network) => service('admin').networks.includes(network)),
        name,
      ).toBe(true);
    }
  });

  it('lets only services that need providers and token endpoints reach them', () => {
    const isOutside = (network: string) => compose.networks[network]?.internal !== true;
    const out = services.filter(([, { networks }]) => networks.some(isOutside)).map(([name]) => name);
    expect(out.filter((name) => !observers.includes(name)).toSorted()).toEqual(
      // For the admin service: the address of OpenID Connect sign-ins.
      ['admin', 'edge-router', 'messages-adapter', 'pool-broker', 'responses-adapter', 'simulator'],
    );
  });

  it('publishes ports on this machine only, unless a variable opens one', () => {
    const portsWith = (variables: Readonly<Record<string, string>>) =>
      Object.entries(readCompose(variables).services).flatMap(([name, { ports }]) =>
        ports.map((port) => `${name} at ${port}`),
      );
    const usual = [
      'admin at 127.0.0.1:9090:9090',
      'edge-router at 127.0.0.1:8080:8080',
      'grafana at 127.0.0.1:3000:3000',
      'prometheus at 127.0.0.1:9091:9090',
    ];
    expect(portsWith({}).toSorted()).toEqual(usual);
    const opened = (variables: Readonly<Record<string, string>>) =>
      portsWith(variables).filter((port) => !usual.includes(port));
    expect(opened({ PUBLISH_ADDRESS: '0.0.0.0' })).toEqual(['edge-router at 0.0.0.0:8080:8080']);
    expect(opened({ ADMIN_PUBLISH_ADDRESS: '10.0.0.5' })).toEqual(['admin at 10.0.0.5:9090:9090']);
  });

  it('uses real providers with the keys of .env, if its gateway.yaml is chosen', () => {
    const variables = {
      GATEWAY_YAML: './deploy/docker/gateway-providers.yaml',
      OPENAI_API_KEY: 'sk-openai-canary',
      ANTHROPIC_API_KEY: 'sk-anthropic-canary',
    };
    const broker = readCompose(variables).services['pool-broker'];
    const { gateway } = readPoolBrokerConfig(broker === undefined ? {} : environmentOf(broker));
    const { pools, classes } = defaultGatewayConfig({});
    expect(gateway).toMatchObject({ pools, classes });
    expect(gateway.accounts.map(({ pool, credential }) => [pool, credential.kind])).toEqual([
      ['responses', 'bearer'],
      ['messages', 'api_key'],
    ]);
  });

  it('starts its monitoring only on request', () => {
    const asked = services.filter(([, { profiles }]) => profiles.includes('observability')).map(([name]) => name);
    expect(asked.toSorted()).toEqual(observers.toSorted());
    const scraped = scrapeConfigSchema.parse(parse(readFileSync(join(root, prometheusFile), 'utf8'))).scrape_configs;
    expect(scraped.map(({ job_name }) => job_name).toSorted()).toEqual([...serviceNames].toSorted());
    for (const { job_name, static_configs } of scraped) {
      expect(static_configs).toEqual([{ targets: [`${job_name}:${service(job_name).environment.ADMIN_PORT}`] }]);
      expect(service(job_name).networks).toContain('telemetry');
    }
    expect(service('prometheus').networks).toContain('telemetry');
    const mounted = observers.flatMap((name) => service(name).volumes.map((text) => text.split(':', 1)[0] ?? ''));
    expect(mounted.filter((path) => path.startsWith('.') && !existsSync(join(root, path)))).toEqual([]);
  });

  it('builds one image, once, for all services', () => {
    expect(new Set(ours.map(([, { image }]) => image)).size).toBe(1);
    expect(services.filter(([, { build }]) => build !== undefined).map(([name]) => name)).toEqual(['migrate']);
  });

  it('pins external images by a full version', () => {
    const others = services.filter(([name]) => !ours.some(([own]) => own === name)).map(([, { image }]) => image);
    expect(others.map((image) => image.replace(/:.*/, '')).toSorted()).toEqual(
      [
        'grafana/grafana',
        'nats',
        'otel/opentelemetry-collector-contrib',
        'postgres',
        'prom/prometheus',
        'redis',
      ].toSorted(),
    );
    // Postgres has two numbers.
    expect(others.filter((image) => !/:v?\d+\.\d+(\.\d+)?(-\w+)?$/.test(image))).toEqual([]);
  });

  it('waits for a stop as long as a service may take for it', () => {
    const late = ours
      .filter(([, { environment }]) => environment.GRPC_PORT !== undefined)
      .filter(([, { environment, stop_grace_period: grace = '0s' }]) => {
        const { drainDelayMs, drainTimeoutMs } = readProcessConfig(environment);
        return drainDelayMs === 0 || Number.parseInt(grace, 10) * 1_000 <= drainDelayMs + drainTimeoutMs;
      });
    expect(late.map(([name]) => name)).toEqual([]);
  });

  it('refers to networks, volumes and services that it has', () => {
    const unknown = services.flatMap(([name, { networks, volumes, depends_on }]) => [
      ...networks.filter((network) => !(network in compose.networks)).map((network) => `${name}: ${network}`),
      ...volumes.filter((text) => !/^[./]/.test(text) && !((text.split(':', 1)[0] ?? '') in compose.volumes)),
      ...Object.keys(depends_on).filter((other) => !(other in compose.services)),
    ]);
    expect(unknown).toEqual([]);
  });
});

function service(name: string) {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no ${name}`);
  return found;
}

function withGrpc(env: Environment): void {
  checkExposure(env, true);
}

function withoutGrpc(env: Environment): void {
  checkExposure(env, false);
}

function readAdminAddress(env: Environment): unknown {
  return readSettings(env, (reader) => ({
    url: reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090'),
    token: reader.optional('GATEWAY_ADMIN_TOKEN'),
  }));
}
