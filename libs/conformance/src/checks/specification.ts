import type { Endpoint } from '../target/gateway-client.ts';
import { type Rule, rulesOf } from './rules.ts';

/** A check of a statement of the specification. */
export interface Promised extends Omit<Rule, 'rule' | 'source'> {
  /** The heading under which the document lists it. */
  readonly section: string;
  /** As it stands there. It is the rule, unless that says more of what is tried. */
  readonly says: string;
  readonly rule?: string;
}

/** Checks of what this project's specification promises. */
export function specifies(endpoints: readonly Endpoint[], promises: readonly Promised[]) {
  const rules = promises.map(({ section, says, rule = says, ...check }) => {
    return { ...check, rule, source: `spec-coverage.md, ${section}: ${says}` };
  });
  return rulesOf(endpoints, rules, 'specification');
}
