import type { Secret } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { Person, PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Counter, Logger, Metrics } from '@gateway/telemetry';
import { type Clock, sleep } from '@gateway/time';
import { askForEach, peerCall } from '../peer-calls.ts';
import { noteInAudit, personName } from './audit-trail.ts';
import type { Identity, OidcProvider } from './oidc-provider.ts';
import type { OperatorStore } from './operators.ts';
import type { PersonGrant, PersonGrants } from './person-grants.ts';
import type { PersonRules } from './person-rules.ts';
import type { SessionStore } from './sessions.ts';

export interface PersonLookupsParts {
  readonly grants: PersonGrants;
  readonly provider: Pick<OidcProvider, 'renew'>;
  readonly people: Pick<Client<typeof PersonService>, 'getPerson' | 'recordPerson' | 'endSessions'>;
  readonly rules: Pick<PersonRules, 'problemOf' | 'claimsOf'>;
  readonly operators: Pick<OperatorStore, 'followProvider'>;
  readonly sessions: Pick<SessionStore, 'endOfPerson'>;
  readonly database: GatewayDatabase;
  /** How long what the provider last said about a person holds. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counter: Counter<'result'>;
}

/**
 * Looks people who are signed in up at the OpenID Connect provider, again and again: their groups
 * apply here, and sessions end that the provider no longer allows. While the provider is away,
 * sessions continue.
 */
export class PersonLookups {
  readonly #parts: PersonLookupsParts;

  constructor(parts: PersonLookupsParts) {
    this.#parts = parts;
  }

  /** Keeps what the provider gave when a person signed in. */
  async keep(personId: string, refreshToken: Secret): Promise<void> {
    const { grants, clock, intervalMs } = this.#parts;
    await grants.keep(personId, refreshToken, clock.nowMs(), clock.nowMs() + intervalMs);
  }

  /** Looks up those who are due, until the signal. Never throws. */
  async tend(signal: AbortSignal): Promise<void> {
    const { intervalMs, logger } = this.#parts;
    const pauseMs = Math.min(maxPauseMs, intervalMs / 5);
    while (!signal.aborted) {
      await this.round(signal).catch((err) => {
        if (!signal.aborted) logger.warn({ err }, 'people could not be looked up; retrying');
      });
      await sleep(pauseMs, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Looks up those who are due now. Stops at the first failure: the provider may be away. */
  async round(signal: AbortSignal): Promise<void> {
    const { grants, clock } = this.#parts;
    for (let last = mostAtOnce; last === mostAtOnce && !signal.aborted; ) {
      const due = await grants.due(mostAtOnce, clock.nowMs());
      last = due.length;
      await askForEach(due, (grant) => this.#lookUp(grant, signal));
    }
  }

  async #lookUp(grant: PersonGrant, signal: AbortSignal): Promise<void> {
    const { grants, clock, intervalMs, counter } = this.#parts;
    signal.throwIfAborted();
    if (!(await grants.claim(grant, clock.nowMs() + intervalMs))) return;
    try {
      const result = await this.#resultOf(grant, signal);
      if (result !== undefined) counter.inc({ result });
    } catch (thrown) {
      counter.inc({ result: 'failed' });
      throw thrown;
    }
  }

  /** Undefined: the person is not signed in. */
  async #resultOf(grant: PersonGrant, signal: AbortSignal) {
    const { grants, provider, people, rules, clock } = this.#parts;
    const request = { personId: grant.person_id, withSessions: true };
    const { person } = await people.getPerson(request, peerCall(signal));
    const isFresh = clock.nowMs() - grant.created_at_ms < firstSessionMs;
    const isSignedIn = person !== undefined && (person.sessions.length > 0 || isFresh);
    if (!isSignedIn || person.disabledAt !== undefined) return void (await grants.forget(grant));
    const renewed = await provider.renew(grants.refreshTokenOf(grant));
    if (renewed === undefined) return await this.#end(grant, person, 'the provider has ended the sign-in', signal);
    // At once: many providers accept each refresh token only once.
    if (renewed.refreshToken !== undefined) await grants.replace(grant, renewed.refreshToken);
    const identity = await renewed.identityOf(person.subject);
    if (identity === undefined) return 'unchanged';
    const problem = await rules.problemOf(identity);
    if (problem !== undefined) return await this.#end(grant, person, problem.reason, signal, { withTokens: true });
    return (await this.#follow(person, identity, signal)) ? 'changed' : 'unchanged';
  }

  /** Applies what has changed at the provider. */
  async #follow(person: Person, identity: Identity, signal: AbortSignal): Promise<boolean> {
    const { people, rules, operators } = this.#parts;
    const hasOtherRole = await operators.followProvider(identity);
    const claims = await rules.claimsOf(identity);
    const isSame = (['email', 'name', 'groupId'] as const).every((field) => claims[field] === person[field]);
    if (!isSame) await people.recordPerson({ person: claims }, peerCall(signal));
    return hasOtherRole || !isSame;
  }

  /** Ends what the person has here. `withTokens`: also tokens that the person has issued. */
  async #end(
    grant: PersonGrant,
    person: Person,
    reason: string,
    signal: AbortSignal,
    { withTokens = false }: { readonly withTokens?: boolean } = {},
  ) {
    const { grants, people, operators, sessions, database, clock } = this.#parts;
    const { personId, subject } = person;
    const ended = await people.endSessions({ personId, withTokens }, peerCall(signal));
    await sessions.endOfPerson(personId);
    if (withTokens) await operators.followProvider({ subject, name: person.name, role: undefined });
    await noteInAudit(database, {
      ...{ atMs: clock.nowMs(), actor: '', address: '', action: 'person.lookup', subject: personName(person) },
      ...{ outcome: 'refused', after: { reason, sessions: ended.sessions.length, withTokens } },
    });
    await grants.forget(grant);
    return 'ended' as const;
  }
}

/** The counter of lookups, which a process also has if it makes none. */
export function lookupCounter(metrics: Metrics): Counter<'result'> {
  const counter = metrics.counter({
    name: 'gateway_person_lookups_total',
    help: 'Lookups of people at the OpenID Connect provider, by result.',
    labels: ['result'],
  });
  for (const result of ['unchanged', 'changed', 'ended', 'failed']) counter.inc({ result }, 0);
  return counter;
}

const maxPauseMs = 60_000;
const mostAtOnce = 200;
/** A client fetches its tokens within this time after the sign-in, and has a session then. */
const firstSessionMs = 900_000;
