import { readProcessConfig } from '@gateway/lifecycle';
import { runWorker } from '@gateway/lifecycle/workers';
import { createEdgeRouterFromEnvironment } from '../service.ts';

const { logLevel, drainTimeoutMs } = readProcessConfig(process.env);

await runWorker({ name: 'edge-router', logLevel, drainTimeoutMs }, (runtime) =>
  createEdgeRouterFromEnvironment(process.env, runtime),
);
