/** The kinds of work that are counted for a request. */
export const countNames = [
  'promises',
  'generatorSteps',
  'timers',
  'listeners',
  'signalListeners',
  'messagesMade',
  'messagesEncoded',
  'jsonParses',
  'outboxWrites',
  'histogramObservations',
] as const;

export type Count = (typeof countNames)[number];
