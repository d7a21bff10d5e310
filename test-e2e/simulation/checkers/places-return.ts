import type { Checker, Evidence } from './evidence.ts';

export const placesReturn: Checker = {
  promise: 'the places of requests at a time and reserved money come back',
  check: ({ groupStates }: Evidence) =>
    groupStates
      .filter(({ running, reservedMicros }) => running > 0 || reservedMicros > 0)
      .map(
        ({ groupId, running, reservedMicros }) => `${groupId}: ${running} run, ${reservedMicros} micros are reserved`,
      ),
};
