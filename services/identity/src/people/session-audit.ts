import type { GatewayDatabase } from '@gateway/database';
import type { Logger } from '@gateway/telemetry';
import { epochMs, randomId } from '@gateway/time';
import type { Person, PersonSession } from './person-store.ts';

export interface SessionStep {
  readonly action: 'person_session.begin' | 'person_session.end' | 'person_session.replay';
  readonly session: Pick<PersonSession, 'session_id' | 'surface' | 'client'>;
  readonly person: Pick<Person, 'email' | 'name'> | undefined;
  /** The client's. Empty: unknown. */
  readonly address: string;
}

/** Writes the steps of people's sessions to the audit log of operators. */
export class SessionAudit {
  readonly #database: GatewayDatabase;
  readonly #logger: Logger;

  constructor(database: GatewayDatabase, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Never fails: the step has been taken, and its answer may have the only copy of a token. */
  async note({ action, session, person, address }: SessionStep): Promise<void> {
    const { session_id: sessionId, surface, client } = session;
    const row = {
      ...{ audit_id: randomId(), at_ms: epochMs(), action, subject: surface || client, address },
      actor: person?.email || person?.name || '',
      details: JSON.stringify({ after: { sessionId, client } }),
      outcome: action === 'person_session.replay' ? ('refused' as const) : ('done' as const),
    };
    try {
      await this.#database.insertInto('audit_log').values(row).execute();
    } catch (thrown) {
      this.#logger.error(
        { err: thrown, action, session_id: sessionId },
        'a step of a session could not be written to the audit log',
      );
    }
  }
}
