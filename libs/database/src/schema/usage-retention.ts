/** From which day on the rows of a table that grows for ever are kept. No row: all are. */
export interface UsageRetentionTable {
  /** "usage_events" or "request_log" */
  readonly table_name: string;
  /** "2026-11-20". Rows of earlier days are gone, or about to go, and none is ever added again. */
  readonly first_day: string;
}
