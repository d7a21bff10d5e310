import { type Checker, type Evidence, isAnswered, mayBeLost } from './evidence.ts';

export const ledgerOnce: Checker = {
  promise: 'every request that a provider answered is in the ledger once',
  check(evidence: Evidence) {
    const { requests, rows: all } = evidence;
    const rows = all.filter(({ outcome }) => outcome !== 'given_up');
    const byId = Map.groupBy(rows, ({ requestId }) => requestId);
    const billed = requests.filter((request) => isAnswered(request) && request.kind.shape !== 'token_count');
    const wrong = billed.flatMap((request) => {
      const { requestId = '', marker, view } = request;
      const count = byId.get(requestId)?.length ?? 0;
      return count === 1 || (count === 0 && mayBeLost(evidence, request))
        ? []
        : [`${marker} (${view}, ${requestId}) has ${count} rows`];
    });
    const ids = new Set<string | undefined>(requests.map(({ requestId }) => requestId));
    const unknown = rows.filter(({ requestId }) => !ids.has(requestId));
    // A client that got no head does not know its id.
    const nameless = requests.filter(({ requestId }) => requestId === undefined).length;
    return unknown.length <= nameless ? wrong : [...wrong, `${unknown.length} rows belong to no request`];
  },
};
