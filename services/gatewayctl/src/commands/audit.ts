import { changesBetween } from '@gateway/presentation/changes-between';
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
import { enumWord, timeText, withNamedZone } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { pastMoment, type RangeFlags, wholeNumber } from './flags.ts';

/** `gatewayctl audit …` */
export function auditCommand({ connect }: CommandContext): Command {
  const audit = new Command('audit').description('Shows who changed what. Admins only.');
  withOutput(audit.command('list'))
    .description('Lists changes and rejected calls, newest first.')
    .argument('[text]', 'only entries with this text in actor, action, subject or the label of a token')
    .option('--since <when>', 'after: 1h, 2d, or a time', pastMoment)
    .option('--until <when>', 'before: 1h, 2d, or a time', pastMoment)
    .option('--last <number>', 'maximum number of rows', wholeNumber(1, 1_000_000), 50)
    .action(async (search: string | undefined, { since, until, last, ...output }: OutputFlags & RangeFlags) => {
      await using admin = await connect({ reads: true });
      const ask = (page: Page) =>
        admin.clientOf(AuditService).listAudit({ search: search ?? '', sinceMs: since, untilMs: until, ...page });
      const pages = firstOf(last, ask, ({ entries }) => entries);
      const isAll = search === undefined && since === undefined && until === undefined;
      const whenNone = isAll ? 'No changes yet.' : 'No matching entries.';
      await printList(output, AuditEntrySchema, pages, { columns, whenNone });
    });
  return audit;
}

const columns: Columns<AuditEntry> = {
  at: ({ atMs }) => timeText(atMs),
  who: ({ actor }) => actor || '(nobody)',
  from: ({ address }) => address,
  what: ({ action }) => action,
  subject: ({ subject, subjectLabel }) => (subjectLabel === '' ? subject : `${subjectLabel} (${subject})`),
  outcome: ({ outcome }): Cell => {
    const text = enumWord(AuditOutcome, outcome);
    return outcome === AuditOutcome.DONE ? text : { text, color: outcome === AuditOutcome.REFUSED ? 'red' : 'yellow' };
  },
  changes: { of: changesText, spare: true },
};

/** "requests per minute 60 → 120", as in the console. A failed change has its reason. */
function changesText({ outcome, before, after, reason, unreadable }: AuditEntry): string {
  if (unreadable !== '') return unreadable;
  if (outcome !== AuditOutcome.DONE) return reason;
  const texts = changesBetween(before, after).map(({ field, was, is }) => {
    return `${field} ${[was, is].filter((value) => value !== undefined).join(' → ')}${is === undefined ? ' → none' : ''}`;
  });
  return withNamedZone(texts.join(', '));
}
