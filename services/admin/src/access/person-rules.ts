import type { Identity } from './oidc-provider.ts';

export interface PersonRulesParts {
  readonly issuer: string;
  /**
   * The groups of the provider whose members may sign in, each with the name of the group that
   * their tokens belong to, or empty. `everyone` stands for all users of the provider. No entry:
   * none may.
   */
  readonly groups: ReadonlyMap<string, string>;
  /** The ids of all groups of tokens, by their names. */
  readonly groupIds: () => Promise<ReadonlyMap<string, string>>;
}

/** What the rules say about a person. The reason is for operators, the text for the person. */
export type PersonDecision =
  | { readonly kind: 'allowed'; readonly claims: PersonDetails }
  | { readonly kind: 'refused'; readonly reason: string; readonly text: string }
  /**
   * The group of tokens does not exist: the person may not sign in, and who is signed in stays so,
   * with the present rules.
   */
  | { readonly kind: 'undecided'; readonly reason: string; readonly text: string };

export interface PersonDetails extends Pick<Identity, 'subject' | 'email' | 'name'> {
  readonly issuer: string;
  /** Empty: none. */
  readonly groupId: string;
}

/** A group of tokens that the setting names, and that does not exist. */
export interface MissingGroup {
  readonly name: string;
  /** The provider's groups whose members would get tokens of it. */
  readonly members: readonly string[];
}

/** The group of OIDC_PEOPLE_GROUPS that every user of the provider is in. */
export const everyone = '*';

/**
 * Which people may sign in from their client, or to the console without a role, and which group
 * their tokens belong to.
 */
export class PersonRules {
  readonly #parts: PersonRulesParts;

  constructor(parts: PersonRulesParts) {
    this.#parts = parts;
  }

  get issuer(): string {
    return this.#parts.issuer;
  }

  get allowsNone(): boolean {
    return this.#parts.groups.size === 0;
  }

  get allowsEveryone(): boolean {
    return this.#parts.groups.has(everyone);
  }

  /** Whether the setting names this group of tokens. */
  names(groupName: string): boolean {
    return this.#parts.groups.values().some((ours) => ours === groupName);
  }

  /**
   * The first of the configured groups that the person is in, and that has a group of tokens,
   * decides about the tokens.
   */
  async decide({ subject, email, name, groups, isEmailUnverified }: Identity): Promise<PersonDecision> {
    const { issuer, groups: allowed, groupIds } = this.#parts;
    if (isEmailUnverified) {
      const text = 'Your e-mail address is not verified. Verify it at your identity provider, then sign in again.';
      return { kind: 'refused', reason: 'the e-mail address is not verified', text };
    }
    if (this.allowsNone) {
      const text = 'People can not sign in here. Ask the operators of the gateway to set OIDC_PEOPLE_GROUPS.';
      return { kind: 'refused', reason: 'OIDC_PEOPLE_GROUPS is empty', text };
    }
    const own = [...allowed].filter(([theirs]) => theirs === everyone || groups.includes(theirs));
    if (own.length === 0) {
      const text = 'None of your groups may use the gateway. Ask the operators of the gateway for access.';
      return { kind: 'refused', reason: 'no group that may sign in', text };
    }
    const [, groupName] = own.find(([, ours]) => ours !== '') ?? ['', ''];
    const claims = { issuer, subject, email, name };
    if (groupName === '') return { kind: 'allowed', claims: { ...claims, groupId: '' } };
    const groupId = (await groupIds()).get(groupName);
    if (groupId !== undefined) return { kind: 'allowed', claims: { ...claims, groupId } };
    const text = 'The group for your tokens does not exist. Ask the operators of the gateway to correct it.';
    return { kind: 'undecided', reason: `the group of tokens ${groupName} does not exist`, text };
  }

  /** The groups of tokens that the setting names, and that do not exist. */
  async missingGroups(): Promise<readonly MissingGroup[]> {
    const named = [...this.#parts.groups].filter(([, ours]) => ours !== '');
    if (named.length === 0) return [];
    const known = await this.#parts.groupIds();
    const missing = Map.groupBy(
      named.filter(([, ours]) => !known.has(ours)),
      ([, ours]) => ours,
    );
    return [...missing].map(([name, entries]) => ({ name, members: entries.map(([theirs]) => theirs) }));
  }
}
