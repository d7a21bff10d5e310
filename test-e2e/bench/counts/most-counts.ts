import type { Count } from './counted.ts';

/**
 * The highest counts of a small request: a tenth more than it has. If you add work to every
 * request, raise a number here, and say what the work is worth.
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
    // One more if the ledger takes longer than 5 ms.
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
    // One more if the ledger takes longer than 5 ms.
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
