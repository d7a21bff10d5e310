import type { Identity } from './oidc-provider.ts';

export interface PersonRulesParts {
  readonly issuer: string;
  /**
   * The groups of the provider whose members may sign in from a client, each with the name of the
   * group that their tokens belong to, or empty. No entry: everyone may.
   */
  readonly groups: ReadonlyMap<string, string>;
  /** The id of a group of tokens. Undefined: there is no group of this name. */
  readonly groupIdOf: (name: string) => Promise<string | undefined>;
}

/** Which people may sign in from their client, and which group their tokens belong to. */
export class PersonRules {
  readonly #parts: PersonRulesParts;

  constructor(parts: PersonRulesParts) {
    this.#parts = parts;
  }

  /**
   * Why a person may not sign in: for operators, and for the person. Undefined if the person may.
   */
  async problemOf({ groups, isEmailUnverified }: Identity) {
    if (isEmailUnverified) {
      const text = 'Your e-mail address is not verified. Verify it at your identity provider, then sign in again.';
      return { reason: 'the e-mail address is not verified', text };
    }
    const { groups: allowed } = this.#parts;
    if (allowed.size === 0 || groups.some((group) => allowed.has(group))) return undefined;
    const text = 'None of your groups may use the gateway. Ask the operators of the gateway for access.';
    return { reason: 'no group that may sign in', text };
  }

  /**
   * Whether a person may sign in to the console without a role. Only members of the configured
   * groups may: without any, the console stays closed.
   */
  async mayOpenConsole(identity: Identity): Promise<boolean> {
    return this.#parts.groups.size > 0 && (await this.problemOf(identity)) === undefined;
  }

  /**
   * The first of the configured groups that the person is in, and that has a group of tokens,
   * counts.
   */
  async claimsOf({ subject, email, name, groups }: Identity) {
    const { issuer, groups: allowed, groupIdOf } = this.#parts;
    const [group] = [...allowed].filter(([theirs, ours]) => ours !== '' && groups.includes(theirs));
    const groupId = group === undefined ? undefined : await groupIdOf(group[1]);
    return { issuer, subject, email, name, groupId: groupId ?? '' };
  }
}
