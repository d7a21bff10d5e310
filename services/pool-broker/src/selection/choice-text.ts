import { obstacleReason } from './obstacle-text.ts';
import type { Examination } from './select-account.ts';

/** Why the account of an examination was chosen, in words for operators; empty when none was. */
export function choiceText({ candidate, examined, chosen }: Examination, affinityKey: string): string {
  if (chosen === undefined) return '';
  const { boundAccountId } = candidate;
  const { view, fitness } = chosen;
  if (fitness.kind === 'unfit' || fitness.probe) return 'to find out whether it is back';
  if (view.account.id === boundAccountId) return 'its session is bound to it';
  if (!examined.some((other) => other !== chosen && other.fitness.kind === 'fit')) return 'the only one that could';
  return affinityKey === '' ? 'it has as much to spare as any' : "its session's key prefers it";
}

/** Accounts of a candidate that could not take a request, all for the same reason. */
export interface SkippedGroup {
  readonly pool: string;
  readonly model: string;
  readonly reason: string;
  readonly count: number;
}

/** The accounts that could not take the request, counted by candidate and reason. */
export function skippedGroups(examinations: readonly Examination[]): readonly SkippedGroup[] {
  // Most requests find every account of their first candidate fit.
  return examinations.every(isFitThroughout) ? none : examinations.flatMap(skippedOf);
}

const none: readonly SkippedGroup[] = [];

function isFitThroughout({ examined }: Examination): boolean {
  return examined.every(({ fitness }) => fitness.kind === 'fit');
}

function skippedOf({ candidate: { candidate }, examined }: Examination): readonly SkippedGroup[] {
  const counts = new Map<string, number>();
  for (const { fitness } of examined) {
    if (fitness.kind === 'fit') continue;
    const reason = obstacleReason(fitness.obstacle);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => ({ pool: candidate.pool.name, model: candidate.model, reason, count }));
}
