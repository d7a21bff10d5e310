export { ManagedProcess, type ProcessControl, untilReady } from './managed-process.ts';
export { type Chromium, chromium } from './servers/chromium.ts';
export { cacheFolder, unpackPackages } from './servers/debian-packages.js';
export { findPrograms } from './servers/find-programs.ts';
export { freePort, freePorts } from './servers/ports.ts';
export { type PostgresPair, startPostgresPair } from './servers/postgres-pair.ts';
export { type PrometheusOptions, prometheusPrograms, promtool, startPrometheus } from './servers/prometheus.ts';
export type { TestServer } from './servers/run-server.ts';
export {
  type NatsCluster,
  startNats,
  startNatsCluster,
  startPgBouncer,
  startPostgres,
  startRedis,
} from './servers/servers.ts';
export * from './service-processes.ts';
export { createTestDatabase, startBackends, type TestBackends, testBackends } from './test-backends.ts';
