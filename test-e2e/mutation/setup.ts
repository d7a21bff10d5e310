import fc from 'fast-check';
import { beforeEach } from 'vitest';

// A property decides the same in each run, and at its first counterexample: a smaller one would
// explain more and take longer.
fc.configureGlobal({ seed: 20_261_127, endOnFailure: true });

// Some files run the same tests in memory and on servers, which no changed program needs.
beforeEach(({ task, skip }) => {
  if (/Redis|Postgres/.test(task.fullName ?? '')) skip('it needs a server');
});
