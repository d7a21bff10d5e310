import { randomUUID } from 'node:crypto';
import type { HandlerContext } from '@connectrpc/connect';
import type { GatewayDatabase, StoredAuditOutcome } from '@gateway/database';
import type { Logger } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import { type Caller, callerOf } from './caller.ts';

/** What is about to be changed. */
export interface Change {
  /** "token.issue" */
  readonly action: string;
  /** A token's id, "<pool>/<name>", an operator's name. Empty: known only after the change. */
  readonly subject: string;
  /** What it is like now. Never a secret. */
  readonly before?: object | undefined;
}

/** What came of a change. */
export interface Changed<T> {
  readonly answer: T;
  readonly subject?: string;
  /** What it was like, where only the change itself could say. */
  readonly before?: object | undefined;
  /** What it is like now. Never a secret. */
  readonly after?: object | undefined;
}

/**
 * Who changed what. A change is written down before it is begun, so that none is missing, and again when it is done; one whose
 * process ended meanwhile stays `started`.
 */
export class AuditTrail {
  readonly #database: GatewayDatabase;
  readonly #clock: Clock;
  readonly #logger: Logger | undefined;

  constructor(database: GatewayDatabase, clock: Clock, logger?: Logger) {
    this.#database = database;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Makes a change of the caller's. What `work` throws is thrown on; it has changed nothing then. */
  async change<T>(
    context: Pick<HandlerContext, 'values'>,
    { action, subject, before }: Change,
    work: () => Promise<Changed<T>>,
  ): Promise<T> {
    const caller = callerOf(context);
    const atMs = this.#clock.nowMs();
    const entry = { atMs, actor: nameOf(caller), address: caller.address, action, subject, before };
    const auditId = await noteInAudit(this.#database, { ...entry, outcome: 'started' });
    let changed: Changed<T>;
    try {
      changed = await work();
    } catch (thrown) {
      await this.#end(auditId, 'failed', { subject, details: { before } });
      throw thrown;
    }
    const details = { before: changed.before ?? before, after: changed.after };
    await this.#end(auditId, 'done', { subject: changed.subject ?? subject, details });
    return changed.answer;
  }

  /** What was done is done, and its answer may have the only copy of a token: a row that can't be written now stays `started`. */
  async #end(
    auditId: string,
    outcome: 'done' | 'failed',
    { subject, details }: { readonly subject: string; readonly details: object },
  ): Promise<void> {
    const set = { outcome, subject: subject.slice(0, maxSubjectLength), details: toJson(details) };
    try {
      await this.#database.updateTable('audit_log').set(set).where('audit_id', '=', auditId).execute();
    } catch (thrown) {
      this.#logger?.error(
        { err: thrown, audit_id: auditId, outcome },
        'the outcome of a change could not be written to the audit log',
      );
    }
  }
}

/** A row of the audit log as the caller has it, with its id. */
export async function noteInAudit(
  database: GatewayDatabase,
  { atMs, before, after, ...entry }: AuditNote,
): Promise<string> {
  const auditId = randomUUID();
  const subject = entry.subject.slice(0, maxSubjectLength);
  const row = { ...entry, subject, audit_id: auditId, at_ms: atMs, details: toJson({ before, after }) };
  await database.insertInto('audit_log').values(row).execute();
  return auditId;
}

export interface AuditNote extends Change {
  readonly atMs: number;
  readonly actor: string;
  readonly address: string;
  readonly outcome: StoredAuditOutcome;
  readonly after?: object;
}

/** Some are what a stranger sent. */
const maxSubjectLength = 300;

/** Counts of the contracts are bigints, which JSON does not know. */
function toJson(details: object): string {
  return JSON.stringify(details, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}

/** As the audit log names who makes calls. */
export function nameOf(caller: Caller): string {
  return caller.kind === 'operator' ? caller.name : `token ${caller.token.label}`;
}
