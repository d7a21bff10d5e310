/** What operators did, written in the transaction that did it. */
export interface AuditLogTable {
  /** UUIDv7 or any other unique text. */
  readonly audit_id: string;
  readonly at_ms: number;
  /** "token.issued" */
  readonly action: string;
  /** The id of what was acted on. */
  readonly subject: string;
  /** A JSON object of what was set. Never a secret. */
  readonly details: string;
}
