/**
 * When the gateway needs a person. The overview of the console and the alert rules of Prometheus
 * share these thresholds, so that both name the same problems.
 */
export const alertThresholds = {
  /** Failed requests below which a share of failures says nothing. */
  fewestFailures: 10,
  /** Age of the oldest usage that has not reached the ledger. */
  usageLateSeconds: 300,
  /** Usage that was lost within this time. */
  usageLostWindowMinutes: 15,
  /** Time until a pool has used up its quotas at the present rate. */
  poolRunningDrySeconds: 3_600,
  /** Time until a certificate expires. */
  certificateExpirySeconds: 7 * 86_400,
  /**
   * The share of its longest remaining time that a certificate still has. It covers short-lived
   * certificates.
   */
  certificateRemainingShare: 0.2,
} as const;
