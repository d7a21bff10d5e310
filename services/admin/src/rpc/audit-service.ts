import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import type { AuditLogTable, Database, GatewayDatabase } from '@gateway/database';
import { type AuditEntrySchema, AuditOutcome, type AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import { z } from 'zod';
import type { AdminPeers } from '../parts.ts';
import { TokenNames } from '../usage/token-names.ts';
import { checkFields, invalidFields } from './problems.ts';

/** The audit log. */
export function auditService({ database, peers }: AuditParts): ServiceImpl<typeof AuditService> {
  const tokenNames = new TokenNames(peers.identity);
  return {
    async listAudit({ search, sinceMs, untilMs, pageSize, pageToken }, { signal }) {
      checkFields({
        ...(pageSize > maxPageSize && { pageSize: `Must be at most ${maxPageSize}.` }),
        ...(!isMoment(sinceMs ?? 0) && { sinceMs: 'Must be whole milliseconds of a time.' }),
        ...(!isMoment(untilMs ?? 0) && { untilMs: 'Must be whole milliseconds of a time.' }),
      });
      const before = pageToken === '' ? undefined : placeOf(pageToken);
      const size = pageSize || 50;
      const rows = await database
        .selectFrom('audit_log')
        .selectAll()
        .$if(search !== '', (query) => query.where((expressions) => matches(expressions, search)))
        .$if(sinceMs !== undefined, (query) => query.where('at_ms', '>=', sinceMs ?? 0))
        .$if(untilMs !== undefined, (query) => query.where('at_ms', '<', untilMs ?? 0))
        .$if(before !== undefined, (query) => query.where((expressions) => comesAfter(expressions, before)))
        .orderBy('at_ms', 'desc')
        .orderBy('audit_id', 'desc')
        // One more row shows whether there is another page.
        .limit(size + 1)
        .execute();
      const page = rows.slice(0, size);
      const ids = page.filter(({ action }) => action.startsWith('token.')).map(({ subject }) => subject);
      // The log is worth showing without labels too.
      const labels = await tokenNames.labelsOf(ids, signal).catch(() => new Map<string, string>());
      return {
        entries: page.map((row) => toEntry(row, labels.get(row.subject))),
        nextPageToken: rows.length > size ? tokenOf(page.at(-1)) : '',
      };
    },
  };
}

interface AuditParts {
  readonly database: GatewayDatabase;
  readonly peers: Pick<AdminPeers, 'identity'>;
}

const maxPageSize = 1_000;

type Columns = ExpressionBuilder<Database, 'audit_log'>;
type Place = z.infer<typeof place>;

function matches({ or }: Columns, search: string) {
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
  const contains = (column: 'actor' | 'action' | 'subject') =>
    sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`;
  // Rows have the labels that a token had before and after.
  const label = `%"label":"%${pattern.slice(1)}`;
  const hasLabel = sql<boolean>`lower(details) like lower(${label}) escape '\\'`;
  return or([contains('actor'), contains('action'), contains('subject'), hasLabel]);
}

/** The order of pages: newest first. */
function comesAfter({ or, and, eb, lit }: Columns, before: Place | undefined) {
  if (before === undefined) return lit(true);
  const [atMs, auditId] = before;
  return or([eb('at_ms', '<', atMs), and([eb('at_ms', '=', atMs), eb('audit_id', '<', auditId)])]);
}

const place = z.tuple([z.int(), z.string()]);

function tokenOf(last: Selectable<AuditLogTable> | undefined): string {
  return last === undefined ? '' : Buffer.from(JSON.stringify([last.at_ms, last.audit_id])).toString('base64url');
}

function placeOf(pageToken: string): Place {
  try {
    return place.parse(JSON.parse(Buffer.from(pageToken, 'base64url').toString()));
  } catch {
    throw invalidFields({ pageToken: 'Invalid page token. Start again from the first page.' });
  }
}

/** A row that can't be read is listed without its change, so that it never hides the others. */
function toEntry(row: Selectable<AuditLogTable>, subjectLabel = ''): MessageInitShape<typeof AuditEntrySchema> {
  const { audit_id: auditId, actor, address, action, subject } = row;
  const entry = { auditId, actor, address, action, subject, subjectLabel, outcome: outcomes[row.outcome] };
  const atMs = isMoment(row.at_ms) ? row.at_ms : undefined;
  try {
    const { before, after, reason } = details.parse(JSON.parse(row.details));
    return { ...entry, atMs, before: jsonOf(before), after: jsonOf(after), reason };
  } catch (thrown) {
    const why = thrown instanceof SyntaxError ? 'it is not valid JSON' : 'it has another form than expected';
    return { ...entry, atMs, unreadable: `The stored change can't be read: ${why}.` };
  }
}

function jsonOf(state: unknown): string {
  return state === undefined ? '' : JSON.stringify(state);
}

/** Whether it is a time in whole milliseconds, from the year 1 to 9999. */
function isMoment(ms: number): boolean {
  return Number.isInteger(ms) && ms >= -62_135_596_800_000 && ms <= 253_402_300_799_999;
}

/** Rows of older releases have only the new state, without `before` and `after`. */
const details = z.union([
  z.strictObject({ before: z.unknown().optional(), after: z.unknown().optional(), reason: z.string().default('') }),
  z.unknown().transform((after) => ({ before: undefined, after, reason: '' })),
]);

const outcomes = {
  started: AuditOutcome.STARTED,
  done: AuditOutcome.DONE,
  failed: AuditOutcome.FAILED,
  refused: AuditOutcome.REFUSED,
} as const;
