/** A mistake in the code that the simulation must find: one text of one file becomes another. */
export interface PlantedFault {
  readonly name: string;
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** The checker that must find it. */
  readonly checker: string;
  /** Runs of which one at least finds it: seed, hours, faults. */
  readonly runs: readonly (readonly [seed: string, hours: string, faults: string])[];
}

const outbox = 'services/edge-router/src/usage/outbox.ts';
const outboxFile = 'services/edge-router/src/usage/outbox-file.ts';
const call = 'services/edge-router/src/call.ts';
const callUsage = 'services/edge-router/src/call-usage.ts';
const app = 'services/edge-router/src/http/app.ts';
const relay = 'services/edge-router/src/relay/relay-answer.ts';
const leases = 'services/edge-router/src/attempts/leases.ts';
const attemptLoop = 'services/edge-router/src/attempts/attempt-loop.ts';
const poolStore = 'services/pool-broker/src/store/memory-pool-store.ts';
const memoryLimits = 'libs/limits/src/memory-limit-store.ts';
const minuteWindow = 'libs/limits/src/minute-window.ts';

const quiet = [['1', '0.03', 'none']] as const;
const groups = [
  ['1', '0.1', 'group'],
  ['2', '0.1', 'group'],
] as const;

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: 'entries leave the minute window three seconds early',
    file: minuteWindow,
    before: 'oldest.enteredMs <= nowMs - WINDOW_MS',
    after: 'oldest.enteredMs <= nowMs - WINDOW_MS + 3_000',
    checker: 'minuteLimit',
    runs: quiet,
  },
  {
    name: 'usage gains a token with the last report of a provider',
    file: callUsage,
    before: 'this.#take(last);',
    after: 'this.#take({ ...last, outputTokens: last.outputTokens + 1 });',
    checker: 'countsAgree',
    runs: quiet,
  },
  {
    name: 'the end of an attempt is not reported when the client leaves',
    file: relay,
    before: 'leases.report({ requestId, affinityKey, attempt, answerKeys })',
    after: 'clientLeft ? undefined : leases.report({ requestId, affinityKey, attempt, answerKeys })',
    checker: 'leasesReturn',
    runs: quiet,
  },
  {
    name: '[DONE] follows an error event',
    file: relay,
    before: 'response.end(renderStreamError(error, dialect, { id, model, createdAt, nextSequenceNumber }));',
    after:
      "response.end(renderStreamError(error, dialect, { id, model, createdAt, nextSequenceNumber }) + 'data: [DONE]\\n\\n');",
    checker: 'oneAnswer',
    runs: [
      ['1', '0.1', 'provider'],
      ['2', '0.1', 'provider'],
    ],
  },
  {
    name: 'the outbox forgets a batch that the stream did not take',
    file: outbox,
    before: 'if (await this.#send(batch)) {',
    after: 'if ((await this.#send(batch)) || true) {',
    checker: 'ledgerOnce',
    runs: [['1', '0.03', 'kill']],
  },
  {
    name: 'an outbox loses the requests that were running when its edge died',
    file: outboxFile,
    before: 'if (record === undefined) sql.run',
    after: "if (record === undefined || kind === 'open') sql.run",
    checker: 'ledgerOnce',
    runs: [['4', '0.1', 'kill']],
  },
  {
    name: 'nothing is handed over after an outage',
    file: 'libs/limits/src/heartbeats.ts',
    before: 'ageMs < WINDOW_MS',
    after: 'ageMs < 0',
    checker: 'minuteLimit',
    runs: [
      ['1', '0.1', 'kill,cut,pause'],
      ['2', '0.1', 'kill,cut,pause'],
      ['3', '0.1', 'kill,cut,pause'],
    ],
  },
  {
    name: 'a settle that is repeated counts twice',
    file: memoryLimits,
    before: '!known.isPending(requestId) && this.#isNew(',
    after: '(() => true)(',
    checker: 'countsAgree',
    runs: [
      ['2', '0.1', 'pause'],
      ['3', '0.1', 'pause'],
      ['4', '0.1', 'pause'],
    ],
  },
  {
    name: 'a delivery that is repeated has another id, and is booked twice',
    file: outbox,
    before: '        this.#due.resolve();\n        await sleep(pauseMs',
    after:
      "        for (const { record } of batch) record.requestId += '+';\n        this.#due.resolve();\n        await sleep(pauseMs",
    checker: 'ledgerOnce',
    runs: [
      ['1', '0.1', 'kill,cut'],
      ['2', '0.1', 'kill,cut'],
      ['3', '0.1', 'kill,cut'],
    ],
  },
  {
    name: 'the limit is one too high',
    file: 'libs/limits/src/meter.ts',
    before: 'return used + cost <= limit;',
    after: 'return used + cost <= limit + 1;',
    checker: 'minuteLimit',
    runs: quiet,
  },
  {
    name: 'a refused client gets too early a time to return',
    file: 'libs/limits/src/decide.ts',
    before: 'return (freeingMs ?? nowMs) + WINDOW_MS;',
    after: 'return (freeingMs ?? nowMs) + WINDOW_MS - 2_000;',
    checker: 'obedientClient',
    runs: [
      ['1', '0.1', 'none'],
      ['2', '0.1', 'none'],
      ['3', '0.1', 'none'],
    ],
  },
  {
    name: 'an ingest acknowledges before it commits',
    file: 'services/usage-ingest/src/service.ts',
    before: 'consumer?.start(writer);',
    after: 'consumer?.start({ record: async (...given) => void setTimeout(() => writer.record(...given), 500) });',
    checker: 'ledgerOnce',
    runs: [
      ['1', '0.1', 'kill'],
      ['2', '0.1', 'kill'],
      ['3', '0.1', 'kill'],
    ],
  },
  {
    name: 'only the first row in a batch is summed',
    file: 'services/usage-ingest/src/store/sqlite-ledger-writes.ts',
    before: 'of dailySums(fresh))',
    after: 'of dailySums(fresh.slice(0, 1)))',
    checker: 'countsAgree',
    runs: [
      ['1', '0.1', 'kill'],
      ['2', '0.1', 'kill'],
      ['3', '0.1', 'kill'],
    ],
  },
  {
    name: 'an expired lease keeps its place',
    file: poolStore,
    before: 'if (lease.seenAtMs > expiredMs) break;\n      this.#end(lease);',
    after: 'if (lease.seenAtMs > expiredMs) break;\n      this.#leases.delete(lease.leaseId);',
    checker: 'leasesReturn',
    runs: [
      ['1', '0.1', 'kill'],
      ['2', '0.1', 'kill'],
      ['3', '0.1', 'kill'],
    ],
  },
  {
    name: 'a report that was lost is not repeated',
    file: leases,
    before: '      this.#unreported.set(report, { untilMs, fault });\n    }',
    after: '    }',
    checker: 'leasesReturn',
    runs: [
      ['2', '0.1', 'pause'],
      ['3', '0.1', 'pause'],
      ['4', '0.1', 'pause'],
    ],
  },
  {
    name: 'a place is not given back when its lease is settled',
    file: poolStore,
    before: 'if (lease !== undefined) this.#end(lease);',
    after: 'if (lease !== undefined) this.#leases.delete(leaseId);',
    checker: 'leasesReturn',
    runs: quiet,
  },
  {
    name: 'the last attempt is not reported when no account is left',
    file: attemptLoop,
    before: 'if (attempt !== undefined) await leases.report',
    after: 'if (attempt === undefined) await leases.report',
    checker: 'leasesReturn',
    runs: [
      ['1', '0.1', 'provider'],
      ['2', '0.1', 'provider'],
    ],
  },
  {
    name: 'a request that a client left is not recorded',
    file: call,
    before: 'this.usage?.end(hasBegun || clientLeft || isTooLong, usage);',
    after: 'this.usage?.end((hasBegun || isTooLong) && !clientLeft, usage);',
    checker: 'ledgerOnce',
    runs: quiet,
  },
  {
    name: 'usage is booked on the day that begins in an hour',
    file: 'services/edge-router/src/admission/admit.ts',
    before: 'const localDay = status?.localDay || localDayOf(admittedAtMs);',
    after: 'const localDay = localDayOf(admittedAtMs + 3_600_000);',
    checker: 'countsAgree',
    runs: [['13', '0.1', 'none']],
  },
  {
    name: 'a request keeps the cost that was known before its end',
    file: callUsage,
    before: 'if (isBilled || sending.hasProduced) this.#price(sending);',
    after: 'if (isBilled || sending.hasProduced) return;',
    checker: 'costsAgree',
    runs: quiet,
  },
  {
    name: 'a broken answer ends as a whole one',
    file: relay,
    before: 'const isWhole = hasSucceeded || result.answerComplete;',
    after: 'const isWhole = hasSucceeded || result.answerComplete || isBetweenEvents();',
    checker: 'oneAnswer',
    runs: [
      ['1', '0.1', 'provider'],
      ['2', '0.1', 'provider'],
    ],
  },
  {
    name: 'a token that was revoked is still accepted',
    file: 'services/edge-router/src/authentication/authenticate.ts',
    before: 'this.#known.delete(key);\n',
    after: 'if (this.#known.has(key)) return this.#known.get(key)?.token;\n',
    checker: 'tokenChanges',
    runs: [['1', '0.1', 'token,revoke']],
  },
  {
    name: 'an answer names its account',
    file: relay,
    before: 'headerSafe(provider)',
    after: 'headerSafe(answer.lease.accountId)',
    checker: 'noSecrets',
    runs: quiet,
  },
  {
    name: 'the memory of a body is not given back',
    file: 'services/edge-router/src/body/body-memory.ts',
    before: 'this.#memory.giveBack(this);',
    after: 'void this.#memory;',
    checker: 'memoryReturns',
    runs: quiet,
  },
  {
    name: 'every request fails',
    file: app,
    before: 'const token = await patience.within(',
    after: "throw new Error('planted');\n  const token = await patience.within(",
    checker: 'answered',
    runs: quiet,
  },
  {
    name: 'every 20th request fails',
    file: app,
    before: 'await route.endpoint(call, peers);',
    after:
      "if (Number.parseInt(id.slice(-3), 16) % 20 === 0) throw new Error('planted');\n  await route.endpoint(call, peers);",
    checker: 'answered',
    runs: quiet,
  },
  {
    name: 'a client is refused though it has slots left',
    file: 'libs/limits/src/meter.ts',
    before: 'return used + cost <= limit;',
    after: 'return used + cost <= limit - 1;',
    checker: 'answered',
    runs: quiet,
  },
  {
    name: 'a group does not get the place of a request back',
    file: memoryLimits,
    before: 'for (const subject of subjectsOf(settlement)) this.#leases.delete(nameOf(subject), requestId);',
    after: 'this.#leases.delete(nameOf({ key, groupKey: group?.key }), requestId);',
    checker: 'answered',
    runs: groups,
  },
  {
    name: 'a request that is settled keeps what it reserved',
    file: memoryLimits,
    before: 'for (const { counter } of chargesOf(settlement)) this.#reserved.delete(counterName(counter), requestId);',
    after: '',
    checker: 'answered',
    runs: groups,
  },
  {
    name: 'a request that no model answers keeps its place',
    file: call,
    before: 'const ended = this.returnLeases();',
    after: 'const ended = used.length > 0 && this.returnLeases();',
    checker: 'placesReturn',
    runs: groups,
  },
  {
    name: 'a request takes two slots of its group',
    file: memoryLimits,
    before: 'take: () => this.#windows.take(meter, requestId, window, nowMs),',
    after:
      "take: () => {\n        this.#windows.take(meter, requestId, window, nowMs);\n        if (meter.key.startsWith('group:')) this.#windows.take(meter, requestId + '+', window, nowMs);\n      },",
    checker: 'answered',
    runs: groups,
  },
  {
    name: 'a group may use the models that its rules leave out',
    file: 'libs/tokens/src/access-rules.ts',
    before: 'return allowsModel(access, model) && allowsModel(group?.access, model);',
    after: 'return allowsModel(access, model) || allowsModel(group?.access, model);',
    checker: 'accessRules',
    runs: groups,
  },
  {
    name: 'a budget never counts what was spent',
    file: memoryLimits,
    before: 'state: () => ({ used, reserved: ofOthers + this.#reserved.open(name).sum, isUnknown }),',
    after: 'state: () => ({ used: 0 * used, reserved: 0 * ofOthers, isUnknown: isUnknown && false }),',
    checker: 'budget',
    runs: groups,
  },
];
