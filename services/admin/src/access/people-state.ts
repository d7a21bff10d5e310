import type { Metrics } from '@gateway/telemetry';
import type { PersonLookups } from './person-lookups.ts';
import type { MissingGroup, PersonRules } from './person-rules.ts';

/** What operators should know about the sign-in of people. */
export interface PeopleState {
  /** They need an operator: their people can't sign in. */
  readonly missingGroups: readonly MissingGroup[];
  /** How many people with a session or a token can't be looked up, although lookups are wanted. */
  readonly withoutLookups: number;
}

export interface PeopleStateParts {
  /** Whether there is a provider at all. */
  readonly hasProvider: boolean;
  readonly rules: PersonRules;
  /** Undefined: people are not looked up again. */
  readonly lookups: Pick<PersonLookups, 'countWithout'> | undefined;
}

/** Reads what needs an operator now. */
export function peopleStateReader({ rules, lookups }: PeopleStateParts, metrics: Metrics): () => Promise<PeopleState> {
  const missing = metrics.gauge({
    name: 'gateway_admin_missing_people_groups',
    help: 'Groups of tokens that OIDC_PEOPLE_GROUPS names and that do not exist.',
  });
  return async () => {
    const [missingGroups, withoutLookups] = await Promise.all([rules.missingGroups(), lookups?.countWithout() ?? 0]);
    missing.set(missingGroups.length);
    return { missingGroups, withoutLookups };
  };
}

/** What the settings mean, in sentences. */
export function peopleNotes({ hasProvider, rules, lookups }: PeopleStateParts): readonly string[] {
  if (!hasProvider) return [];
  if (rules.allowsNone) {
    return ['OIDC_PEOPLE_GROUPS is empty: no one may sign in from a client, or to the console without a role.'];
  }
  const everyone = 'OIDC_PEOPLE_GROUPS has *: everyone whom the provider signs in may use the gateway.';
  const unasked =
    'OIDC_SCOPES has no offline_access: people are not looked up again at the provider, and tokens that they issue end SIGN_IN_IDLE_DAYS after their last sign-in.';
  return [...(rules.allowsEveryone ? [everyone] : []), ...(lookups === undefined ? [unasked] : [])];
}
