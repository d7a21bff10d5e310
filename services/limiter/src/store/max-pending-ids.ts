/**
 * Settled requests of one key and day that are kept by their ids until the ledger has them: as many as it can be asked for
 * in one snapshot. Of further ones only the tokens are kept, until the ledger has caught up.
 */
export const maxPendingIds = 10_000;
