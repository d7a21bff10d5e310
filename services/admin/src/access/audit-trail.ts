import { ConnectError, type HandlerContext } from '@connectrpc/connect';
import type { GatewayDatabase, StoredAuditOutcome } from '@gateway/database';
import type { Person } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Logger } from '@gateway/telemetry';
import { epochMs, randomId } from '@gateway/time';
import { type Caller, callerOf } from './caller.ts';

/** The change that is about to happen. */
export interface Change {
  /** "token.issue" */
  readonly action: string;
  /** A token's id, "<pool>/<name>" or an operator's name. Empty if only the change creates it. */
  readonly subject: string;
  /** The state before the change. Never a secret. */
  readonly before?: object | undefined;
}

/** The result of a change. */
export interface Changed<T> {
  readonly answer: T;
  readonly subject?: string;
  /** The state before the change, if only the change itself could read it. */
  readonly before?: object | undefined;
  /** The state after the change. Never a secret. */
  readonly after?: object | undefined;
}

/**
 * The audit log of changes. A change is recorded before it begins, so that none is missing, and
 * again when it is done. If its process ends meanwhile, it stays `started`.
 */
export class AuditTrail {
  readonly #database: GatewayDatabase;
  readonly #logger: Logger | undefined;

  constructor(database: GatewayDatabase, logger?: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /**
   * Runs a change for the caller. Rethrows the error of `work`, which must have changed nothing
   * then.
   */
  async change<T>(
    context: Pick<HandlerContext, 'values'>,
    { action, subject, before }: Change,
    work: () => Promise<Changed<T>>,
  ): Promise<T> {
    const caller = callerOf(context);
    const atMs = epochMs();
    const entry = { atMs, actor: nameOf(caller), address: caller.address, action, subject, before };
    const auditId = await noteInAudit(this.#database, { ...entry, outcome: 'started' });
    let changed: Changed<T>;
    try {
      changed = await work();
    } catch (thrown) {
      // Other errors than refusals may have inner details.
      const reason = thrown instanceof ConnectError ? thrown.rawMessage : undefined;
      await this.#end(auditId, 'failed', { subject, details: { before, reason } });
      throw thrown;
    }
    const details = { before: changed.before ?? before, after: changed.after };
    await this.#end(auditId, 'done', { subject: changed.subject ?? subject, details });
    return changed.answer;
  }

  /**
   * The change is done, and its answer may have the only copy of a token. So if the row can't be
   * written now, it stays `started`.
   */
  async #end(
    auditId: string,
    outcome: 'done' | 'failed',
    { subject, details }: { readonly subject: string; readonly details: object },
  ): Promise<void> {
    const set = { outcome, subject: subject.slice(0, maxSubjectLength), details: JSON.stringify(details) };
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

/** A new row of the audit log, with its id and the caller. */
export async function noteInAudit(
  database: GatewayDatabase,
  { atMs, before, after, ...entry }: AuditNote,
): Promise<string> {
  const auditId = randomId();
  const subject = entry.subject.slice(0, maxSubjectLength);
  const row = { ...entry, subject, audit_id: auditId, at_ms: atMs, details: JSON.stringify({ before, after }) };
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

/** Some texts come from unauthenticated callers. */
const maxSubjectLength = 300;

/** The caller's name in the audit log. */
export function nameOf(caller: Caller): string {
  if (caller.kind === 'operator') return caller.name;
  // People choose labels, and names at the provider: neither may look like an operator's name.
  return caller.kind === 'token' ? `token ${caller.token.label}` : `person ${personName(caller.person)}`;
}

/** How a person is known to operators. */
export function personName({ email, name, personId }: Pick<Person, 'email' | 'name' | 'personId'>): string {
  return email || name || personId;
}
