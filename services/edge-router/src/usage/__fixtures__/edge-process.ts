import { Outbox } from '../outbox.ts';
import { requestRow } from './test-edge.ts';

/**
 * A process with an outbox that it can't deliver, in the folder given as first argument. It waits
 * to be killed.
 */
const [, , folder = '', requestId = ''] = process.argv;
const ignore = () => undefined;
const outbox = new Outbox({
  folder,
  sink: { record: () => Promise.reject(new Error('away')) },
  synchronous: 'off',
  memoryEvents: 100,
  events: {
    deliveryFailed: ignore,
    faulted: ignore,
    writeFailed: ignore,
    damaged: ignore,
    lost: ignore,
    backlog: ignore,
  },
});
await outbox.finish(requestRow(requestId));
process.stdout.write('finished\n');
