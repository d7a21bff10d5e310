import {
  type AuditEntry,
  AuditEntrySchema,
  AuditOutcome,
  AuditService,
} from '@gateway/proto/admin/v1/audit_service_pb.js';
import { Command } from 'commander';
import { firstOf, type Page } from '../connection/pages.ts';
import { type OutputFlags, printList, withOutput } from '../output/print.ts';
import type { Cell, Columns } from '../output/table.ts';
import { enumWord, timeText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { pastMoment, type RangeFlags, wholeNumber } from './flags.ts';

/** `gatewayctl audit …` */
export function auditCommand({ connect }: CommandContext): Command {
  const audit = new Command('audit').description('What was changed, by whom. For admins.');
  withOutput(audit.command('list'))
    .description('Changes and refusals, newest first.')
    .argument('[text]', 'only those with it in who, what or of what')
    .option('--since <when>', 'since then: 1h, 2d, a time', pastMoment)
    .option('--until <when>', 'before: 1h, 2d, a time', pastMoment)
    .option('--last <number>', 'how many at most', wholeNumber(1, 1_000_000), 50)
    .action(async (search: string | undefined, { since, until, last, ...output }: OutputFlags & RangeFlags) => {
      await using admin = await connect();
      const ask = (page: Page) =>
        admin.clientOf(AuditService).listAudit({ search: search ?? '', since, until, ...page });
      const pages = firstOf(last, ask, ({ entries }) => entries);
      await printList(output, AuditEntrySchema, pages, { columns, whenNone: 'The audit log has nothing of it.' });
    });
  return audit;
}

const columns: Columns<AuditEntry> = {
  at: ({ at }) => timeText(at),
  who: ({ actor }) => actor || '(nobody)',
  from: { of: ({ address }) => address, spare: true },
  what: ({ action }) => action,
  'of what': ({ subject }) => subject,
  outcome: ({ outcome }): Cell => {
    const text = enumWord(AuditOutcome, outcome);
    return outcome === AuditOutcome.DONE ? text : { text, color: outcome === AuditOutcome.REFUSED ? 'red' : 'yellow' };
  },
  before: { of: ({ before }) => before, spare: true },
  after: { of: ({ after }) => after, spare: true },
};
