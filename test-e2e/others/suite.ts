import { z } from 'zod';

/** Where a suite runs, and against what. */
export interface Place {
  /** The folder with the suite's packages: `node_modules`, or a Python environment. */
  readonly installed: string;
  /** The files of its repository, if it has one. */
  readonly repository?: string;
  /** An empty folder. */
  readonly home: string;
  readonly url: string;
  readonly token: string;
  readonly signal: AbortSignal;
}

/** What others wrote to test gateways or providers, and what of it can't apply to this gateway. */
export interface Suite {
  readonly name: string;
  readonly from: 'npm' | 'PyPI' | 'GitHub';
  /**
   * Exact versions; the first is the suite's own. On GitHub that is a repository and its commit,
   * beside at most one package of npm.
   */
  readonly packages: Readonly<Record<string, string>>;
  /** What runs and how, for the page. */
  readonly how: string;
  readonly run: (place: Place) => Promise<readonly Finding[]>;
  readonly explained: readonly Explanation[];
}

export interface Finding {
  readonly check: string;
  /** `skipped` by the suite itself. */
  readonly outcome: 'kept' | 'failed' | 'skipped';
  readonly found: string;
}

/** Why a check is not kept. Each explains at least one finding, or the run fails. */
export interface Explanation {
  readonly checks: RegExp;
  readonly found: RegExp;
  readonly why: string;
}

const explainedChecks = z.strictObject({ why: z.string(), checks: z.array(z.string()) });

export const suiteReport = z.strictObject({
  name: z.string(),
  from: z.enum(['npm', 'PyPI', 'GitHub']),
  packages: z.record(z.string(), z.string()),
  how: z.string(),
  kept: z.int(),
  skipped: z.array(explainedChecks),
  failed: z.array(z.strictObject({ check: z.string(), found: z.string() })),
});
export type SuiteReport = z.infer<typeof suiteReport>;

export const othersReport = z.strictObject({
  date: z.string(),
  node: z.string(),
  python: z.string(),
  suites: z.array(suiteReport),
  leftOut: z.array(z.strictObject({ name: z.string(), why: z.string() })),
});
export type OthersReport = z.infer<typeof othersReport>;

/** A check that is neither kept nor explained has failed, and so has an explanation of nothing. */
export function reportOn(suite: Suite, findings: readonly Finding[]): SuiteReport {
  const { name, from, packages, how, explained } = suite;
  const open = findings.filter(({ outcome }) => outcome !== 'kept');
  const explains = ({ checks, found }: Explanation, finding: Finding) =>
    checks.test(finding.check) && found.test(finding.found);
  const reasonOf = (finding: Finding) => explained.find((explanation) => explains(explanation, finding));
  const unused = explained.filter((explanation) => !open.some((finding) => reasonOf(finding) === explanation));
  return {
    name,
    from,
    packages: { ...packages },
    how,
    kept: findings.length - open.length,
    skipped: explained.map((explanation) => ({
      why: explanation.why,
      checks: open.filter((finding) => reasonOf(finding) === explanation).map(({ check }) => check),
    })),
    failed: [
      ...open.filter((finding) => reasonOf(finding) === undefined).map(({ check, found }) => ({ check, found })),
      ...unused.map(({ why }) => ({ check: 'an explanation that explains nothing', found: why })),
      ...(findings.length === 0 ? [{ check: 'the suite', found: 'ran no test' }] : []),
    ],
  };
}
