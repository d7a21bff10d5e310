/** The rule is broken: what was expected, and what was there instead. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Why the check could not be tried, as `the model does not know tools`. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}

/** @throws Violation with the text, unless it holds. */
export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Violation(otherwise);
}
