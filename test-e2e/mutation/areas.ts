/** Code whose tests are tested: a change of one operator, value or branch must fail one of them. */
export interface Area {
  /** Globs of the files that are changed, from the root of the repository. */
  readonly mutate: readonly string[];
  /** Globs of the tests that must notice: quick ones, because they run for each change. */
  readonly tests: readonly string[];
}

export const areas: Readonly<Record<string, Area>> = {
  windows: {
    mutate: [
      'libs/limits/src/{counters,decide,expiring-amounts,limit-store,limited-key,memory-limit-store,meter}.ts',
      'libs/limits/src/{minute-window,minute-windows,settled-charges,span}.ts',
    ],
    tests: [
      'libs/limits/src/{decide,expiring-amounts,limit-store,limited-key,memory-limit-store,memory-leases,minute-window}.test.ts',
      'services/limiter/test/{group-model,limit-store,limit-store-bounds}.test.ts',
    ],
  },
  outages: {
    mutate: [
      'libs/limits/src/{fallback-limits,heartbeats,kept-settles,partial-return}.ts',
      'libs/limits/src/{remote-answers,replica-share,window-caps}.ts',
    ],
    tests: [
      'libs/limits/src/{fallback-*,kept-settles,partial-return,remote-answers,replica-share,window-caps}.test.ts',
      'services/edge-router/src/admission/outage-tolerant-limiter.test.ts',
    ],
  },
  limiter: {
    mutate: ['services/limiter/src/ledger/*.ts', 'services/limiter/src/store/{embedded,shared}-limit-store.ts'],
    tests: ['services/limiter/src/{ledger,store}/*.test.ts'],
  },
  outbox: {
    mutate: ['services/edge-router/src/usage/{outbox*,send-batch}.ts'],
    tests: [
      'services/edge-router/src/usage/{outbox,outbox-backlog,outbox-events,outbox-file-rows}.test.ts',
      'services/edge-router/src/usage/{outbox-row,outbox-traces,send-batch}.test.ts',
    ],
  },
  ingest: {
    mutate: ['services/usage-ingest/src/{recording,store}/*.ts'],
    tests: [
      'services/usage-ingest/src/{recording,store}/*.test.ts',
      'services/usage-ingest/test/{add-entries,reconcile,record,request-log}.test.ts',
    ],
  },
  leases: {
    mutate: ['services/edge-router/src/attempts/leases.ts', 'services/pool-broker/src/store/memory-pool-store.ts'],
    tests: [
      'services/edge-router/src/attempts/{attempt-reporter,late-leases,lease-renewals}.test.ts',
      'services/pool-broker/src/store/*.test.ts',
      'services/pool-broker/test/pool-store.test.ts',
    ],
  },
};

/** The lowest share of changes, in percent, that tests must notice. */
export const leastScore = 90;
