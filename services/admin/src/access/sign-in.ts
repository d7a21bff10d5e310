import { Code, ConnectError } from '@connectrpc/connect';
import { isDevelopmentSecret } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { IdentityService, Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Counter, Metrics } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import { peerCall } from '../peer-calls.ts';
import { nameOf } from './audit-trail.ts';
import type { Caller, Connection } from './caller.ts';
import { MinuteRate } from './minute-rate.ts';
import type { FinishedSignIn } from './oidc-provider.ts';
import type { Operator, OperatorStore } from './operators.ts';
import type { PersonRules } from './person-rules.ts';
import type { Refusals } from './refusals.ts';
import { rolesByName } from './role-names.ts';
import { cookieText } from './session-cookie.ts';
import type { SessionHolder, SessionStore, SignInMethod, StoredSession } from './sessions.ts';
import { SharedAuditRows } from './shared-audit-rows.ts';
import { networkOf, SignInThrottle } from './sign-in-throttle.ts';

export interface SignInParts {
  readonly database: GatewayDatabase;
  readonly operators: OperatorStore;
  readonly sessions: SessionStore;
  readonly refusals: Refusals;
  readonly identity: Pick<Client<typeof IdentityService>, 'resolve' | 'list'>;
  readonly people: Pick<Client<typeof PersonService>, 'recordPerson' | 'getPerson'>;
  readonly rules: PersonRules;
  readonly signIns: SignInCounter;
  /** Creates the operator of ADMIN_TOKEN if needed. */
  readonly ensureFirst: () => Promise<void>;
  /** Accepts public tokens: a database from a trial may have an operator with one. */
  readonly allowsDevelopmentSecrets: boolean;
}

/** Authenticates callers, by a token or by a session that began with one. */
export class SignIn {
  readonly #parts: SignInParts;
  readonly #throttle: SignInThrottle;
  readonly #ofHolder: MinuteRate;
  readonly #ofNetwork: MinuteRate;
  readonly #audited: SharedAuditRows;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.#throttle = new SignInThrottle();
    this.#ofHolder = new MinuteRate({ mostOfName: 30, mostOverall: Number.POSITIVE_INFINITY });
    this.#ofNetwork = new MinuteRate({ mostOfName: 100, mostOverall: 1_000 });
    this.#audited = new SharedAuditRows(parts.database);
  }

  /**
   * The holder of this token. @throws ConnectError `unauthenticated`, or `resource_exhausted` after
   * too many wrong ones
   */
  async byToken(tokenText: string, { address }: Connection, signal: AbortSignal): Promise<Caller> {
    const { refusals, signIns } = this.#parts;
    const caller = await this.#holderOf(tokenText, address, signal);
    if (caller !== undefined) return caller;
    if (!this.#throttle.failed(address)) {
      signIns.count('token', 'throttled');
      await refusals.note({ reason: 'sign_in', actor: '', address, subject: 'a token, after too many wrong ones' });
      throw new ConnectError('Too many failed attempts. Wait a minute.', Code.ResourceExhausted);
    }
    signIns.count('token', 'refused');
    await refusals.note({ reason: 'sign_in', actor: '', address, subject: 'an unknown token' });
    throw new ConnectError('This token is unknown, revoked or expired.', Code.Unauthenticated);
  }

  /**
   * The operator that the OpenID Connect provider authenticated: the groups there give the role. Or
   * the person, if no group has a role. @throws ConnectError if the groups give neither
   */
  async byProvider(
    { identity, refreshToken }: FinishedSignIn,
    { address }: Connection,
    signal: AbortSignal,
  ): Promise<Caller> {
    const { operators, people, rules, refusals, signIns } = this.#parts;
    const { subject, name, role } = identity;
    const operator = role && (await operators.fromProvider(subject, name, role));
    if (operator !== undefined && operator.disabled_at_ms === null) return this.#seen(operator, address);
    await operators.endSessionsOf(subject);
    const decision = operator === undefined ? await rules.decide(identity) : undefined;
    const claims = decision?.kind === 'allowed' && { ...decision.claims, notLookedUp: refreshToken === undefined };
    const { person } = claims ? await people.recordPerson({ person: claims }, peerCall(signal)) : {};
    if (person !== undefined && person.disabledAtMs === undefined) return { kind: 'person', person, address };
    signIns.count('oidc', 'refused');
    const isDisabled = operator !== undefined || person !== undefined;
    const isUndecided = decision?.kind === 'undecided';
    const why = isDisabled ? 'disabled' : isUndecided ? decision.reason : 'no group with a role';
    await refusals.note({ reason: 'sign_in', actor: '', address, subject: `${name}: ${why}` });
    throw new ConnectError(
      isDisabled ? `${name} is disabled.` : isUndecided ? decision.text : noRoleText(name),
      Code.PermissionDenied,
    );
  }

  /**
   * Begins a session of a browser. Only the cookie has the secret.
   * @throws ConnectError `resource_exhausted` if the holder, or the address, begins too many.
   */
  async begin(caller: Caller, connection: Connection, method: SignInMethod) {
    const { sessions, signIns } = this.#parts;
    await this.#bound(caller, method);
    const { secret, session } = await sessions.begin(holderOf(caller), method);
    const atMs = epochMs();
    const [actor, { address }] = [nameOf(caller), caller];
    const entry = { atMs, actor, address, action: 'session.begin', subject: method, outcome: 'done' } as const;
    const lastAt = new Date(atMs).toISOString();
    const key = JSON.stringify([actor, networkOf(address), method]);
    await this.#audited.note(key, entry, undefined, (times) => ({ times, lastAt }));
    signIns.count(method, 'done');
    const maxAgeSeconds = Math.ceil((session.expires_at_ms - atMs) / 1_000);
    return { cookie: cookieText('session', secret, connection, { maxAgeSeconds }), session };
  }

  /** The holder of this session. Undefined if it has ended. */
  async bySession(session: StoredSession, { address }: Connection, signal: AbortSignal): Promise<Caller | undefined> {
    const { operators, people } = this.#parts;
    if (session.person_id !== null) {
      const { person } = await people.getPerson({ personId: session.person_id }, peerCall(signal));
      return person === undefined || person.disabledAtMs !== undefined
        ? undefined
        : { kind: 'person', person, address };
    }
    if (session.operator_id !== null) {
      const operator = await operators.find(session.operator_id);
      return operator === undefined || operator.disabled_at_ms !== null ? undefined : this.#seen(operator, address);
    }
    const token = await this.#tokenOf(session, signal);
    return token && { kind: 'token', token, address };
  }

  /** Each sign-in is a row among the sessions. */
  async #bound(caller: Caller, method: SignInMethod): Promise<void> {
    const { refusals, signIns } = this.#parts;
    const { address } = caller;
    const { operator_id, token_id, person_id } = holderOf(caller);
    const holder = JSON.stringify([operator_id, token_id, person_id]);
    if (this.#ofHolder.take(holder) && this.#ofNetwork.take(networkOf(address))) return;
    signIns.count(method, 'throttled');
    await refusals.note({ reason: 'sign_in', actor: nameOf(caller), address, subject: 'too many sign-ins' });
    throw new ConnectError('Too many sign-ins. Wait a minute.', Code.ResourceExhausted);
  }

  async #holderOf(tokenText: string, address: string, signal: AbortSignal): Promise<Caller | undefined> {
    // A text that can't be a token needs no lookup.
    const parsed = parseTokenText(tokenText);
    if (parsed === undefined) return undefined;
    if (parsed.kind === 'operator') {
      if (!this.#parts.allowsDevelopmentSecrets && isDevelopmentSecret(tokenText)) return undefined;
      await this.#parts.ensureFirst();
      const operator = await this.#parts.operators.withToken(tokenText);
      return operator && this.#seen(operator, address);
    }
    const asked = { tokenSha256: tokenSha256(tokenText) };
    const { token } = await this.#parts.identity.resolve(asked, peerCall(signal));
    return token && { kind: 'token', token, address };
  }

  async #seen(operator: Operator, address: string): Promise<Caller> {
    await this.#parts.operators.seen(operator);
    const { operator_id: operatorId, name, role } = operator;
    return { kind: 'operator', operatorId, name, role: rolesByName[role], address };
  }

  /**
   * The token that the session began with, if it has not changed since. Rotating the token ends its
   * sessions.
   */
  async #tokenOf({ token_id, token_revision }: StoredSession, signal: AbortSignal): Promise<Token | undefined> {
    if (token_id === null) return undefined;
    const { tokens } = await this.#parts.identity.list({ tokenIds: [token_id] }, peerCall(signal));
    const token = tokens.find(({ tokenId }) => tokenId === token_id);
    const isSame = token !== undefined && token.revision === token_revision && token.revokedAtMs === undefined;
    const endsMs = token?.expiresAtMs ?? Number.POSITIVE_INFINITY;
    return isSame && epochMs() < endsMs ? token : undefined;
  }
}

function noRoleText(name: string): string {
  return `No group of ${name} has a role. The setting OIDC_ROLES maps groups to roles, and OIDC_PEOPLE_GROUPS names groups that need none.`;
}

/** The holder as sessions store it. */
function holderOf(caller: Caller): SessionHolder {
  const none = { operator_id: null, token_id: null, token_revision: null, person_id: null } as const;
  if (caller.kind === 'operator') return { ...none, operator_id: caller.operatorId };
  if (caller.kind === 'person') return { ...none, person_id: caller.person.personId };
  const { tokenId: token_id, revision } = caller.token;
  return { ...none, token_id, token_revision: revision };
}

type Result = 'done' | 'refused' | 'throttled' | 'failed';

/** Counts sign-ins by their result. */
export class SignInCounter {
  readonly #counter: Counter<'method' | 'result'>;

  constructor(metrics: Metrics) {
    this.#counter = metrics.counter({
      name: 'gateway_admin_sign_ins_total',
      help: 'Sign-in attempts, by result. Calls with their own token count only when it is rejected.',
      labels: ['method', 'result'],
    });
    for (const result of ['done', 'refused', 'throttled'] as const) this.#counter.inc({ method: 'token', result }, 0);
  }

  count(method: SignInMethod, result: Result): void {
    this.#counter.inc({ method, result });
  }
}
