import { pagesOf, type UsagePlane } from '../../control-plane.ts';
import { servedBy } from '../../failures.ts';
import { type Terminal, timeText } from '../../output.ts';

/** Has the ledger read its dead letters again, prints those that stay, and sums up in the last line. */
export async function replayDeadLetters(
  { ledger }: Pick<UsagePlane, 'ledger'>,
  { dryRun = false }: { readonly dryRun?: boolean },
  terminal: Terminal,
): Promise<void> {
  const totals = { replayed: 0, duplicates: 0, stillDead: 0 };
  const pages = pagesOf((pageToken) =>
    servedBy('usage-ingest', ledger.replayDeadLetters({ dryRun, pageToken }, { timeoutMs: 60_000 })),
  );
  for await (const { replayed, duplicates, stillDead, nextPageToken } of pages) {
    totals.replayed += replayed;
    totals.duplicates += duplicates;
    totals.stillDead += stillDead.length;
    for (const { deadLetterId, receivedAt, reason } of stillDead) {
      await terminal.print(`${deadLetterId}  ${timeText(receivedAt)}  ${reason}\n`);
    }
    const read = totals.replayed + totals.duplicates + totals.stillDead;
    if (nextPageToken !== '') terminal.note(`${read} letters read`);
  }
  const [recorded, deleted] = dryRun ? ['would be recorded', 'would be deleted'] : ['recorded', 'deleted'];
  await terminal.print(
    `${totals.replayed} ${recorded}, ${totals.duplicates} in the ledger already and ${deleted}, ${totals.stillDead} still dead.\n`,
  );
}
