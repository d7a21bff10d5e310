import { readProcessConfig } from '@gateway/lifecycle';
import { runWorker } from '@gateway/lifecycle/workers';
import { RecentRequestService } from '@gateway/proto/edge/v1/recent_request_service_pb.js';
import { createEdgeRouterFromEnvironment } from '../service.ts';

const { logLevel, drainTimeoutMs } = readProcessConfig(process.env);

await runWorker({ name: 'edge-router', logLevel, drainTimeoutMs }, (runtime, primary) =>
  createEdgeRouterFromEnvironment(process.env, runtime, primary.client(RecentRequestService)),
);
