import { runWorker } from '@gateway/lifecycle/workers';
import { readAllInOneConfig } from '../config.ts';
import { createFront } from '../front.ts';
import { openPrimary } from './open-primary.ts';

const { logLevel, drainTimeoutMs } = readAllInOneConfig(process.env);
const [, , address = ''] = process.argv;
using primary = openPrimary(address);

await runWorker({ name: 'The gateway', logLevel, drainTimeoutMs }, (runtime) =>
  createFront(process.env, primary.peers, runtime),
);
