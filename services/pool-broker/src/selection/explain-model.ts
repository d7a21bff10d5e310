import type { Candidate } from '../catalog/catalog.ts';
import { errorAverageAt } from '../health/availability.ts';
import type { Broker } from './broker.ts';
import { obstacleText } from './choice-text.ts';
import { readCandidates } from './read-candidates.ts';
import { type AccountView, type ExaminedAccount, type Selection, selectAccount } from './select-account.ts';

export interface ExplainedCandidate {
  readonly candidate: Candidate;
  readonly accounts: readonly ExplainedAccount[];
}

export interface ExplainedAccount {
  readonly view: AccountView;
  readonly chosen: boolean;
  /** Why it was not chosen; empty for the chosen one. */
  readonly reason: string;
}

/** Which account would serve a first request for a model now, and why not the others. Changes nothing. */
export async function explainModel(
  broker: Broker,
  model: string,
  affinityKey: string,
): Promise<readonly ExplainedCandidate[]> {
  const { catalog, settings: rules } = broker.configuration;
  const resolved = catalog.resolve(model, new Set());
  const candidates = await readCandidates(broker, resolved, { affinityKey, caller: '' }, 'all');
  // Equals are drawn at random; the first of them stands for all.
  const first = { affinityKey, attempts: [], overtakenAt: [], rules, nowMs: broker.clock.nowMs(), random: () => 0 };
  const selection = selectAccount({ ...first, candidates });
  return candidates.map((view) => {
    // Candidates after the chosen one are looked at as if they were alone.
    const { examinations } = selectAccount({ ...first, candidates: [view] });
    const explain = (each: ExaminedAccount): ExplainedAccount => {
      const chosen = selection.kind === 'chosen' && selection.view === each.view && selection.candidate === view;
      if (each.fitness.kind === 'unfit') {
        return { view: each.view, chosen, reason: obstacleText(each.fitness.obstacle) };
      }
      const failsTooOften = errorAverageAt(each.view.health, first.nowMs) >= rules.errorThreshold;
      const reason = chosen ? '' : passedOverText(selection, view.candidate, failsTooOften);
      return { view: each.view, chosen, reason };
    };
    return { candidate: view.candidate, accounts: examinations.flatMap(({ examined }) => examined).map(explain) };
  });
}

/** Why an account that could serve the request was not chosen. */
function passedOverText(selection: Selection, candidate: Candidate, failsTooOften: boolean): string {
  if (selection.kind !== 'chosen') return '';
  const { candidate: chosen, view } = selection;
  if (chosen.candidate !== candidate) return 'an earlier candidate has an account to spare';
  if (chosen.boundAccountId === view.account.id) return 'the session is bound to another account';
  if (selection.probe) return 'a request finds out whether another account is back';
  if (failsTooOften) return 'too many of its latest attempts failed';
  return 'another account has as much to spare, or more';
}
