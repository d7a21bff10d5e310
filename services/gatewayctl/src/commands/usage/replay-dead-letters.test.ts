import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../../__fixtures__/command-line.ts';

const letter = { deadLetterId: 'ab12', receivedAtMs: 1_795_000_000_000, reason: 'localDay is not a day' };

function commandLine() {
  const asked: boolean[] = [];
  const line = new CommandLine((router) =>
    router.service(UsageService, {
      replayDeadLetters: ({ pageToken, dryRun }) => {
        asked.push(dryRun);
        const replay =
          pageToken === '' ? { replayed: 2, nextPageToken: 'more' } : { duplicates: 1, stillDead: [letter] };
        return { replay };
      },
    }),
  );
  return { line, asked };
}

describe('gatewayctl usage replay-dead-letters', () => {
  it('lists remaining dead letters with the reason, and sums up all pages', async () => {
    const { lines, notes } = await commandLine().line.run('usage', 'replay-dead-letters');
    expect(lines).toEqual([
      'ab12  2026-11-18 11:06:40 UTC  localDay is not a day',
      '2 recorded, 1 already in the ledger and deleted, 1 still dead letters.',
    ]);
    expect(notes).toBe('2 dead letters read');
  });

  it('says in a dry run what it would do', async () => {
    const { line, asked } = commandLine();
    const { lines } = await line.run('usage', 'replay-dead-letters', '--dry-run');
    expect(lines.at(-1)).toBe(
      '2 would be recorded, 1 already in the ledger and would be deleted, 1 still dead letters.',
    );
    expect(asked).toEqual([true, true]);
  });
});
