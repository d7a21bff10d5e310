import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { OutboxEvents } from './outbox-events.ts';
import { isDamage, type OutboxChange, OutboxFile } from './outbox-file.ts';

export interface Adoption {
  readonly folder: string;
  /** This process' own file. */
  readonly own: () => OutboxFile;
  /** Opens a file; undefined when its owner lives. */
  readonly open: (path: string) => OutboxFile | undefined;
  /** Rows that are copied at a time. */
  readonly batchRows: number;
  readonly events: Pick<OutboxEvents, 'faulted' | 'damaged'>;
  readonly signal: AbortSignal;
  readonly onAdopted: () => void;
}

/** Takes over what dead processes left in the folder. */
export async function adoptAbandoned(adoption: Adoption): Promise<void> {
  const { folder, own, events } = adoption;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (!name.endsWith('.sqlite') || path === own().path) continue;
    try {
      await adopt(path, adoption);
    } catch (fault) {
      events.faulted(fault);
      if (!isDamage(fault)) continue;
      OutboxFile.setAside(path);
      events.damaged(path, undefined);
    }
  }
}

/** Copies a file into this process' own and removes it. Cut short, it is done again: the ledger knows the ids. */
async function adopt(path: string, { own, open, batchRows, events, signal, onAdopted }: Adoption): Promise<void> {
  using abandoned = open(path);
  if (abandoned === undefined) return;
  abandoned.closeAbandoned();
  let batch = abandoned.finals(0, batchRows);
  for (; batch !== undefined; batch = abandoned.finals(batch.upTo, batchRows)) {
    if (signal.aborted) return;
    const changes: [string, OutboxChange][] = [
      ...batch.events.map((event): [string, OutboxChange] => [event.requestId, { kind: 'final', event }]),
      ...batch.logs.map((log): [string, OutboxChange] => [`log ${log.requestId}`, { kind: 'log', log }]),
    ];
    own().write(new Map(changes));
    if (batch.damaged > 0) events.damaged(path, batch.damaged);
    onAdopted();
    await nextTick();
  }
  abandoned.remove();
}
