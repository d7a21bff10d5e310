/** What is counted of a request. */
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
