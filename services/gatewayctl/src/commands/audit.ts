import {
  type AuditEntry,
  AuditEntrySchema,
  AuditOutcome,
  AuditService,
} from '@gateway/proto/admin/v1/audit_service_pb.js';
import { Command } from 'commander';
import { firstOf } from '../connection/pages.ts';
import { ListPrinter, type OutputFlags, withOutput } from '../output/print.ts';
import type { Cell, Columns } from '../output/table.ts';
import { enumWord, timeText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { pastMoment, wholeNumber } from './flags.ts';

interface ListFlags extends OutputFlags {
  readonly since?: ReturnType<typeof pastMoment>;
  readonly until?: ReturnType<typeof pastMoment>;
  readonly last: number;
}

/** `gatewayctl audit …` */
export function auditCommand({ connect }: CommandContext): Command {
  const audit = new Command('audit').description('What was changed, by whom. For admins.');
  withOutput(audit.command('list'))
    .description('Changes and refusals, newest first.')
    .argument('[text]', 'only those with it in who, what or of what')
    .option('--since <when>', 'since then: 1h, 2d, a time', pastMoment)
    .option('--until <when>', 'before: 1h, 2d, a time', pastMoment)
    .option('--last <number>', 'how many at most', wholeNumber(1, 1_000_000), 50)
    .action(async (search: string | undefined, { since, until, last, ...output }: ListFlags) => {
      await using admin = await connect();
      const times = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
      const printer = new ListPrinter(output, AuditEntrySchema, columns);
      const ask = (page: object) => admin.clientOf(AuditService).listAudit({ search: search ?? '', ...times, ...page });
      for await (const entries of firstOf(last, ask, (page) => page.entries)) printer.add(entries);
      printer.end('The audit log has nothing of it.');
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
