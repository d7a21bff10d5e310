import { generateLoad } from './generate-load.ts';
import type { LoadOrder } from './load-order.ts';

// The generator, a process of its own: it takes orders from its parent, one at a time, and answers
// each with a report.

process.on('message', (order: LoadOrder) => {
  generateLoad(order).then(
    (report) => process.send?.({ report }),
    (thrown: unknown) => process.send?.({ problem: thrown instanceof Error ? thrown.stack : String(thrown) }),
  );
});
process.once('disconnect', () => process.exit(0));
process.send?.({ ready: true });
