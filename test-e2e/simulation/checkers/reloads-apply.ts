import type { ClientRequest } from '../clients/client.ts';
import type { Checker, Evidence } from './evidence.ts';

/** Brokers read the file four times a second, and use a text that they read twice. */
const appliedWithinMs = 2_000;

export const reloadsApply: Checker = {
  promise: 'a change of gateway.yaml applies within seconds, and one that can’t be used changes nothing',
  check(evidence: Evidence) {
    const asked = evidence.requests.filter(({ kind }) => kind.body('').model === 'gateway/claude');
    return asked.flatMap((request) => {
      const { marker, status, code, sentAtMs } = request;
      const offers = offersBetween(evidence, request);
      if (offers.length !== 1) return [];
      if (status === 200 && !offers[0]) return [`${marker} at ${sentAtMs} is answered without its class`];
      return code === 'model_not_found' && offers[0] ? [`${marker} at ${sentAtMs} does not find its class`] : [];
    });
  },
};

/** Whether the class was offered, by all brokers; several answers if that is unknown. */
function offersBetween({ fileChanges, notes }: Evidence, { sentAtMs, headAtMs = sentAtMs }: ClientRequest) {
  const fromMs = sentAtMs - appliedWithinMs;
  const ofTime = notes.filter(({ atMs }) => atMs >= fromMs && atMs <= headAtMs + 1_000);
  if (!ofTime.every(({ wereBrokersUp }) => wereBrokersUp)) return [];
  const before = fileChanges.findLast(({ atMs }) => atMs < fromMs);
  const during = fileChanges.filter(({ atMs }) => atMs >= fromMs && atMs <= headAtMs);
  return [...new Set([...(before === undefined ? [] : [before]), ...during].map(({ hasClaude }) => hasClaude))];
}
