import type { Secret } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { Person, PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Counter, Logger, Metrics } from '@gateway/telemetry';
import { epochMs, sleep, startTimer } from '@gateway/time';
import { askForEach, orAborted, peerCall } from '../peer-calls.ts';
import { noteInAudit, personName } from './audit-trail.ts';
import { isUnanswered, type OidcProvider, timeoutSeconds } from './oidc-provider.ts';
import type { OperatorStore } from './operators.ts';
import type { PersonGrant, PersonGrants } from './person-grants.ts';
import type { PersonRules } from './person-rules.ts';
import type { SessionStore } from './sessions.ts';

export interface PersonLookupsParts {
  readonly grants: PersonGrants;
  readonly provider: Pick<OidcProvider, 'renew'>;
  readonly people: Pick<Client<typeof PersonService>, 'getPerson' | 'recordPerson' | 'endSessions'>;
  readonly rules: Pick<PersonRules, 'decide' | 'issuer'>;
  readonly operators: Pick<OperatorStore, 'followProvider'>;
  readonly sessions: Pick<SessionStore, 'endOfPerson' | 'hasOfPerson'>;
  readonly database: GatewayDatabase;
  /** How long what the provider last said about a person holds. */
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly counter: Counter<'result'>;
}

/**
 * Looks people up at the OpenID Connect provider, again and again, as long as they have a session
 * or a valid token: their groups apply here, and what they have ends when the provider no longer
 * allows it. While the provider is away, everything continues.
 */
export class PersonLookups {
  readonly #parts: PersonLookupsParts;

  constructor(parts: PersonLookupsParts) {
    this.#parts = parts;
  }

  /** Keeps what the provider gave when a person signed in. */
  async keep(person: Person, refreshToken: Secret | undefined): Promise<void> {
    const { grants, intervalMs } = this.#parts;
    const [nowMs, dueAtMs] = [epochMs(), epochMs() + intervalMs];
    if (refreshToken !== undefined) return await grants.keep(person.personId, refreshToken, nowMs, dueAtMs);
    await grants.keepNone(person.personId, nowMs, dueAtMs);
    if (!(await grants.has(person.personId))) await this.#noteUnknown(person, 'the provider gave no refresh token');
  }

  /** Whether the person can be looked up. */
  async has(personId: string): Promise<boolean> {
    return await this.#parts.grants.has(personId);
  }

  /** How many people can't be looked up, although they have a session or a valid token. */
  async countWithout(): Promise<number> {
    return await this.#parts.grants.countWithout();
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

  /**
   * Looks up those who are due now. After the first failure it begins no other lookup, because the
   * provider may be away, and throws when all have ended.
   */
  async round(signal: AbortSignal): Promise<void> {
    const { grants } = this.#parts;
    const failures: unknown[] = [];
    // A lookup in progress gets its answer even while the process stops, if it comes soon.
    const patience = new AbortController();
    const onStop = () => void startTimer(() => patience.abort(signal.reason), stopPatienceMs);
    signal.addEventListener('abort', onStop, { once: true });
    for (let last = mostAtOnce; last === mostAtOnce && failures.length === 0 && !signal.aborted; ) {
      const due = await grants.due(mostAtOnce, epochMs());
      last = due.length;
      await askForEach(due, async (grant) => {
        if (failures.length === 0 && !signal.aborted) {
          await this.#lookUp(grant, patience.signal).catch((thrown: unknown) => failures.push(thrown));
        }
      });
    }
    signal.removeEventListener('abort', onStop);
    if (failures.length > 0) throw failures[0];
  }

  /** One lookup of a person at a time, over all replicas. */
  async #lookUp(due: PersonGrant, signal: AbortSignal): Promise<void> {
    const { grants, intervalMs, counter } = this.#parts;
    const grant = await grants.claim(due, epochMs() + leaseMs);
    if (grant === undefined) return;
    try {
      const result = await this.#resultOf(grant, signal);
      if (result !== undefined) counter.inc({ result });
    } catch (thrown) {
      counter.inc({ result: 'failed' });
      throw thrown;
    } finally {
      await grants.release(grant, epochMs() + intervalMs);
    }
  }

  /** Undefined: the person was not looked up. */
  async #resultOf(grant: PersonGrant, signal: AbortSignal) {
    const { grants, people, rules, operators, logger } = this.#parts;
    const request = { personId: grant.person_id, withSessions: true };
    const { person } = await people.getPerson(request, peerCall(signal));
    if (person === undefined || !(await this.#hasAnything(grant, person))) return void (await grants.forget(grant));
    if (grant.refresh_token === '') return undefined;
    const renewed = await this.#renew(grant, signal);
    if (renewed === 'refused') return await this.#refuse(grant, person, signal);
    const identity = await renewed?.identityOf(person.subject);
    if (identity === undefined) return 'unchanged';
    const hasOtherRole = await operators.followProvider(identity);
    const decision = await rules.decide(identity);
    if (decision.kind === 'refused') {
      return await this.#end(grant, person, decision.reason, signal, { withTokens: true });
    }
    if (decision.kind === 'undecided') {
      logger.warn({ person_id: grant.person_id, reason: decision.reason }, 'a lookup changes nothing');
      return 'failed';
    }
    const { claims } = decision;
    const isSame = (['email', 'name', 'groupId'] as const).every((field) => claims[field] === person[field]);
    const isRecorded = isSame && person.tokensUntilMs === undefined;
    if (!isRecorded) await people.recordPerson({ person: claims }, peerCall(signal));
    return hasOtherRole || !isSame ? 'changed' : 'unchanged';
  }

  /** Whether the person has something that must end when the person leaves. */
  async #hasAnything(grant: PersonGrant, person: Person): Promise<boolean> {
    const { sessions } = this.#parts;
    if (person.disabledAtMs !== undefined) return false;
    const isFresh = epochMs() - grant.created_at_ms < firstSessionMs;
    if (isFresh || person.sessions.length > 0 || person.issuedTokens > 0) return true;
    return await sessions.hasOfPerson(person.personId);
  }

  /**
   * What the provider answers. A new refresh token is stored at once, and beforehand that an answer
   * is awaited: many providers accept each refresh token only once. Undefined: the person has
   * signed in again.
   */
  async #renew(grant: PersonGrant, signal: AbortSignal) {
    const { grants, provider } = this.#parts;
    const refreshToken = grants.refreshTokenOf(grant);
    if (!(await grants.noteAsked(grant, epochMs()))) return undefined;
    try {
      const renewed = await orAborted(provider.renew(refreshToken), signal);
      if (renewed === undefined) return 'refused';
      await grants.replace(grant, renewed.refreshToken ?? refreshToken);
      return renewed;
    } catch (thrown) {
      // As before: an earlier answer may have been lost.
      if (!isUnanswered(thrown)) await grants.noteAsked(grant, grant.asked_at_ms);
      throw thrown;
    }
  }

  /**
   * The provider refuses the refresh token. If the answer to an earlier lookup was lost, the
   * provider may have replaced the token then: nothing is known about the person.
   */
  async #refuse(grant: PersonGrant, person: Person, signal: AbortSignal) {
    const { grants, people, rules } = this.#parts;
    // False: the person has signed in again, which may have ended the older grant.
    if (!(await grants.noteAsked(grant, grant.asked_at_ms))) return 'unchanged';
    if (grant.asked_at_ms === null) {
      return await this.#end(grant, person, 'the provider has ended the sign-in', signal, { suspendTokens: true });
    }
    const { subject, email, name, groupId } = person;
    const claims = { issuer: rules.issuer, subject, email, name, groupId, notLookedUp: true };
    await people.recordPerson({ person: claims }, peerCall(signal));
    await grants.replace(grant, undefined);
    await this.#noteUnknown(person, 'an answer of the provider was lost, and it refuses the sign-in since then');
    return 'lost';
  }

  /** The person can't be looked up until the next sign-in. */
  async #noteUnknown(person: Person, reason: string): Promise<void> {
    const { database, logger } = this.#parts;
    logger.warn({ person_id: person.personId, reason }, 'a person can not be looked up until the next sign-in');
    await noteInAudit(database, {
      ...{ atMs: epochMs(), actor: '', address: '', action: 'person.lookup', subject: personName(person) },
      ...{ outcome: 'failed', after: { reason } },
    });
  }

  /**
   * Ends what the person has here. `withTokens`: tokens that the person has issued are revoked.
   * `suspendTokens`: they end until the person signs in again.
   */
  async #end(
    grant: PersonGrant,
    person: Person,
    reason: string,
    signal: AbortSignal,
    how: { readonly withTokens: true } | { readonly suspendTokens: true },
  ) {
    const { grants, people, operators, sessions, database } = this.#parts;
    const { personId, subject, name } = person;
    const ended = await people.endSessions({ personId, ...how }, peerCall(signal));
    await sessions.endOfPerson(personId);
    if ('suspendTokens' in how) await operators.followProvider({ subject, name, role: undefined });
    await noteInAudit(database, {
      ...{ atMs: epochMs(), actor: '', address: '', action: 'person.lookup', subject: personName(person) },
      ...{ outcome: 'refused', after: { reason, sessions: ended.sessions.length, withTokens: 'withTokens' in how } },
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
  for (const result of ['unchanged', 'changed', 'ended', 'failed', 'lost']) counter.inc({ result }, 0);
  return counter;
}

const maxPauseMs = 60_000;
const mostAtOnce = 200;
const stopPatienceMs = 3_000;
/** Longer than a lookup can take, with its two calls to the provider. */
const leaseMs = 3 * timeoutSeconds * 1_000;
/** A client fetches its tokens within this time after the sign-in, and has a session then. */
const firstSessionMs = 900_000;
