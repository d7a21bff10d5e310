import type { Count } from './counted.ts';

/**
 * What a small request may count at most: a tenth more than it does. Who adds work to every request raises a number here, and says
 * what it is worth.
 */
const most: Readonly<Record<string, Readonly<Record<Count, number>>>> = {
  'messages-1k': {
    promises: 250,
    generatorSteps: 4.4,
    timers: 5.6,
    listeners: 16.5,
    signalListeners: 6.7,
    messagesMade: 28.7,
    messagesEncoded: 2.3,
    jsonParses: 5.5,
    // One more where the ledger takes longer than 5 ms.
    outboxWrites: 3,
    histogramObservations: 9,
  },
  'chat-to-messages-1k': {
    promises: 245,
    generatorSteps: 4.4,
    timers: 5.6,
    listeners: 16.5,
    signalListeners: 6.7,
    messagesMade: 28.7,
    messagesEncoded: 2.3,
    jsonParses: 17.6,
    // One more where the ledger takes longer than 5 ms.
    outboxWrites: 3,
    histogramObservations: 9,
  },
};

/** @throws for a case that is not counted. */
export function mostOf(caseName: string): Readonly<Record<Count, number>> {
  const counts = most[caseName];
  if (counts === undefined) throw new Error(`There are no agreed counts of ${caseName}.`);
  return counts;
}
