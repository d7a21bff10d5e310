/** What became of requests, for operators: one row for each, written once. Removed by whole days: see `EventDays`. */
export interface RequestLogTable {
  /** A UUIDv7: the order of ids is the order of requests. */
  readonly request_id: string;
  /** The local day (Europe/Amsterdam) on which the request was received, "2026-11-20". */
  readonly local_day: string;
  readonly token_id: string;
  readonly received_at_ms: number;
  /** Number of a `gateway.usage.v1.RequestEnding`. */
  readonly ending: number;
  /** 1 when more than one account was tried, else 0. */
  readonly moved: number;
  /** 1 when the answer began late, else 0. */
  readonly slow: number;
  /** The model as the client named it and as providers know it, each between line ends. */
  readonly models: string;
  /** The `gateway.usage.v1.RequestLogged` in base64. */
  readonly entry: string;
}
