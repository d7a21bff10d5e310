/**
 * Has a system compile what a case needs: drives it until its cost has twice in a row fallen no further. What is measured first must
 * not pay for the compiler, and several processes on one core take a minute or two, with turns in between that are no cheaper.
 *
 * @param turnCost drives the system for a turn and says what that cost, in whatever unit; undefined when it is not known
 */
export async function untilSettled(turnCost: () => Promise<number | undefined>, mostTurns: number): Promise<void> {
  let leastCost = Number.POSITIVE_INFINITY;
  let turnsWithoutGain = 0;
  for (let turn = 0; turn < mostTurns && turnsWithoutGain < 2; turn++) {
    const cost = await turnCost();
    if (cost === undefined) return;
    turnsWithoutGain = cost > leastCost * settledShare ? turnsWithoutGain + 1 : 0;
    leastCost = Math.min(leastCost, cost);
  }
}

/** A cost above this part of the least before is no gain: noise moves it as much. */
const settledShare = 0.95;
