import { AccountState } from '@gateway/proto/pool/v1/account_pb.js';
import type { AccountExplanation } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type ControlPlane, callOptions } from '../../control-plane/control-plane.ts';
import { enumWord } from '../../output/enum-word.ts';
import { formatTable } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';

/** Prints which account would serve the next request for a model, and why not the others. */
export async function explainPool(
  { broker }: Pick<ControlPlane, 'broker'>,
  model: string,
  affinityKey: string,
  terminal: Terminal,
): Promise<void> {
  const { candidates } = await broker.explain({ model, affinityKey }, callOptions);
  if (candidates.length === 0) throw new Error(`there is no model or class ${model}`);
  const chosen = candidates.flatMap(({ accounts }) => accounts).find((account) => account.chosen)?.account;
  const texts = candidates.map(({ pool, model: id, accounts }, index) => {
    const table = formatTable(['account', 'state', 'in flight', 'verdict'], accounts.map(toRow));
    return `${index + 1}. ${id} of ${pool}\n${accounts.length === 0 ? 'no accounts\n' : table}`;
  });
  const verdict = chosen === undefined ? 'No account would take a request now.' : `${chosen.id} would take it.`;
  await terminal.print(`${texts.join('\n')}\n${verdict}\n`);
}

function toRow({ account, chosen, reason }: AccountExplanation): readonly string[] {
  return [
    account?.name ?? '',
    enumWord(AccountState, account?.state ?? AccountState.UNSPECIFIED),
    String(account?.inFlight ?? 0),
    chosen ? 'would be taken' : reason,
  ];
}
