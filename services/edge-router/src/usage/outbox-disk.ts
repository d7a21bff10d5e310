import { statfsSync } from 'node:fs';
import type { Metrics } from '@gateway/telemetry';

/** How much room there is where the outbox is: without any, nothing can be recorded. */
export function outboxDiskGauges(metrics: Metrics, folder: string): void {
  metrics.gauge({
    name: 'gateway_edge_outbox_disk_free_bytes',
    help: 'What is free of the disk that the outbox is on.',
    read: () => sizesOf(folder).free,
  });
  metrics.gauge({
    name: 'gateway_edge_outbox_disk_size_bytes',
    help: 'The size of the disk that the outbox is on.',
    read: () => sizesOf(folder).size,
  });
}

function sizesOf(folder: string) {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return { free: bavail * bsize, size: blocks * bsize };
}
