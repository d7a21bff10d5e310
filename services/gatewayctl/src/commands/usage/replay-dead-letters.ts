import type { UsagePlane } from '../../control-plane/control-plane.ts';
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
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const call = ledger.replayDeadLetters({ dryRun, pageToken }, callOptions);
    const page: Awaited<typeof call> = await servedBy('usage-ingest', call);
    totals.replayed += page.replayed;
    totals.duplicates += page.duplicates;
    totals.stillDead += page.stillDead.length;
    const letters = page.stillDead.map(
      ({ deadLetterId, receivedAt, reason }) => `${deadLetterId}  ${timeText(receivedAt)}  ${reason}\n`,
    );
    await terminal.print(letters.join(''));
    pageToken = page.nextPageToken === '' ? undefined : page.nextPageToken;
    if (pageToken !== undefined)
      terminal.note(`${totals.replayed + totals.duplicates + totals.stillDead} letters read`);
  }
  const [replayed, deleted] = dryRun ? ['would be recorded', 'would be deleted'] : ['recorded', 'deleted'];
  await terminal.print(
    `${totals.replayed} ${replayed}, ${totals.duplicates} in the ledger already and ${deleted}, ${totals.stillDead} still dead.\n`,
  );
}
