import { UsageDelivery } from '../usage-delivery.ts';
import { UsageJournal } from '../usage-journal.ts';
import { usageEvent } from './test-edge.ts';

/** A process with a journal in the folder of its first argument, which it can't deliver. Waits to be killed. */
const [, , folder = '', requestId = ''] = process.argv;
const sink = { record: () => Promise.reject(new Error('away')) };
const ignore = () => undefined;
const journal = await UsageJournal.open({
  folder,
  delivery: new UsageDelivery({ sink, onFault: ignore }),
  events: {
    faulted: ignore,
    writeFailed: ignore,
    lineDamaged: ignore,
    drained: ignore,
    lost: ignore,
    backlogIs: ignore,
  },
});
await journal.finish(usageEvent(requestId));
process.stdout.write('finished\n');
