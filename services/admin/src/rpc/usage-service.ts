import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { epochMs, isLocalDay, localDayOf } from '@gateway/time';
import { callerOf } from '../access/caller.ts';
import type { AdminParts } from '../parts.ts';
import { differentCounters } from '../usage/different-counters.ts';
import { ownUsage, usageOfPerson } from '../usage/own-usage.ts';
import { TokenNames } from '../usage/token-names.ts';
import { usagePage } from '../usage/usage-report.ts';
import { invalidFields } from './problems.ts';

/** Counting a day of many millions of events takes minutes. */
const reconcileTimeoutMs = 1_800_000;
const replayTimeoutMs = 60_000;

/** Usage and its cost, and maintenance of the ledger. */
export function usageService({
  peers,
  audit,
  logger,
}: Pick<AdminParts, 'peers' | 'audit' | 'logger'>): ServiceImpl<typeof UsageService> {
  const report = { peers, names: new TokenNames(peers.identity) };
  return {
    reportUsage: ({ $typeName: _, ...query }, { signal }) => usagePage(report, query, signal),

    getMyUsage(_request, context) {
      const caller = callerOf(context);
      if (caller.kind === 'token') return ownUsage({ ...report, logger }, caller.token, context.signal);
      if (caller.kind === 'person') return usageOfPerson(report, caller.person, context.signal);
      throw new ConnectError(
        'This page shows the usage of one token: sign in with that token, or as a person without a role.',
        Code.PermissionDenied,
      );
    },

    async reconcileDay({ localDay, repair }, context) {
      if (!isLocalDay(localDay)) throw invalidFields({ localDay: 'Must be a day such as 2026-11-20.' });
      // The limiter corrects a counter when it compares it.
      return await audit.change(context, { action: 'usage.reconcile', subject: localDay }, async () => {
        const options = { timeoutMs: reconcileTimeoutMs, signal: context.signal };
        const ledger = await peers.usageLedger.reconcileDay({ localDay, repair }, options);
        const counters = await differentCounters(peers, localDay, localDayOf(epochMs()), context.signal);
        const { differenceCount, repaired } = ledger;
        const after = { repair, differences: differenceCount, repaired, counters: counters.length };
        return { answer: { ledger, counters }, after };
      });
    },

    async replayDeadLetters({ dryRun, pageToken }, context) {
      const options = { timeoutMs: replayTimeoutMs, signal: context.signal };
      const replay = () => peers.usageLedger.replayDeadLetters({ dryRun, pageToken }, options);
      if (dryRun) return { replay: await replay() };
      return await audit.change(context, { action: 'usage.replay_dead_letters', subject: '' }, async () => {
        const answer = await replay();
        const { replayed, duplicates, stillDead } = answer;
        return { answer: { replay: answer }, after: { replayed, duplicates, stillDead: stillDead.length } };
      });
    },
  };
}
