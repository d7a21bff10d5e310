import { runWorker } from '@gateway/lifecycle/workers';
import { RecentRequestService } from '@gateway/proto/edge/v1/recent_request_service_pb.js';
import { readAllInOneConfig } from '../config.ts';
import { createFront } from '../front.ts';
import { openPrimary } from './open-primary.ts';

const { logLevel, drainTimeoutMs } = readAllInOneConfig(process.env);
const [, , address = ''] = process.argv;
using primary = openPrimary(address);

await runWorker({ name: 'The gateway', logLevel, drainTimeoutMs }, (runtime, { client }) =>
  createFront(process.env, { ...primary.peers, neighbours: client(RecentRequestService) }, runtime),
);
