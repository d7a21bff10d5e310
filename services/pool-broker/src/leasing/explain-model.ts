import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { errorAverageAt } from '../health/availability.ts';
import { anyFormat } from '../messages/pool-format.ts';
import type { AccountView } from '../selection/fitness.ts';
import { obstacleText } from '../selection/obstacle-text.ts';
import { examineAccounts, type Selection, selectAccount } from '../selection/select-account.ts';
import { readCandidates } from './read-candidates.ts';
import { LeasingHistory } from './request-history.ts';

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
  const asking = { affinityKey, caller: '' };
  const candidates = await readCandidates(broker, broker.catalog.resolve(model, anyFormat), asking);
  // Equals are told apart at random; the first of them stands for all.
  const request = {
    candidates,
    affinityKey,
    history: new LeasingHistory([]),
    rules: broker.settings,
    nowMs: broker.clock.nowMs(),
    random: () => 0,
  };
  const selection = selectAccount(request);
  const failsTooOften = ({ health }: AccountView) =>
    errorAverageAt(health, request.nowMs) >= request.rules.errorThreshold;
  return candidates.map((candidate) => ({
    candidate: candidate.candidate,
    accounts: examineAccounts(candidate, request).map(({ view, fitness }) => {
      const chosen = selection.kind === 'chosen' && selection.candidate === candidate && selection.view === view;
      if (fitness.kind === 'unfit') return { view, chosen, reason: obstacleText(fitness.obstacle) };
      return {
        view,
        chosen,
        reason: chosen ? '' : passedOverText(selection, candidate.candidate, failsTooOften(view)),
      };
    }),
  }));
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
