import { pagesOf, type UsagePlane } from '../../control-plane/control-plane.ts';
import { servedBy } from '../../output/failures.ts';
import type { Terminal } from '../../output/terminal.ts';
import { timeText } from '../../output/words.ts';

const callOptions = { timeoutMs: 60_000 };

/** Has the ledger read its dead letters again, prints those that stay, and sums up in the last line. */
export async function replayDeadLetters(
  { ledger }: Pick<UsagePlane, 'ledger'>,
  { dryRun = false }: { readonly dryRun?: boolean },
  terminal: Terminal,
): Promise<void> {
  const totals = { replayed: 0, duplicates: 0, stillDead: 0 };
  const pages = pagesOf((pageToken) =>
    servedBy('usage-ingest', ledger.replayDeadLetters({ dryRun, pageToken }, callOptions)),
  );
  for await (const page of pages) {
    totals.replayed += page.replayed;
    totals.duplicates += page.duplicates;
    totals.stillDead += page.stillDead.length;
    const letters = page.stillDead.map(
      ({ deadLetterId, receivedAt, reason }) => `${deadLetterId}  ${timeText(receivedAt)}  ${reason}\n`,
    );
    await terminal.print(letters.join(''));
    if (page.nextPageToken !== '')
      terminal.note(`${totals.replayed + totals.duplicates + totals.stillDead} letters read`);
  }
  const [replayed, deleted] = dryRun ? ['would be recorded', 'would be deleted'] : ['recorded', 'deleted'];
  await terminal.print(
    `${totals.replayed} ${replayed}, ${totals.duplicates} in the ledger already and ${deleted}, ${totals.stillDead} still dead.\n`,
  );
}
