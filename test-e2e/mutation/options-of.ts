import { type Area, leastScore } from './areas.ts';

/** Stryker's options for an area, in a copy of the sources. Results go to files of this name. */
export function optionsOf(area: Area, results: string, afresh: boolean): Readonly<Record<string, unknown>> {
  return {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test-e2e/mutation/vitest.config.ts', related: false },
    mutate: [...area.mutate, '!**/*.test.ts'],
    // The sources are a copy already.
    inPlace: true,
    disableTypeChecks: false,
    concurrency: 1,
    coverageAnalysis: 'perTest',
    timeoutMS: 30_000,
    incremental: true,
    force: afresh,
    incrementalFile: `${results}.json`,
    reporters: ['clear-text', 'html', 'progress-append-only'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    htmlReporter: { fileName: `${results}.html` },
    thresholds: { high: 95, low: leastScore, break: leastScore },
    allowConsoleColors: false,
  };
}
