/**
 * Makes a system compile the code of a case: runs it until its cost has twice in a row fallen no
 * further. The first measurement must not include the compiler. Several processes on one core take
 * a minute or two, with turns in between that are no cheaper.
 *
 * @param turnCost runs the system for a turn and returns its cost, in any unit; undefined if
 * unknown
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

/** A cost above this share of the lowest one is no gain: noise is as large. */
const settledShare = 0.95;
