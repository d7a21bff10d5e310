/** An alert for a state that needs a person. Its runbook is docs/operate/runbooks/<name>.md. */
export interface Alert {
  readonly name: string;
  /**
   * `page`: users are affected, or will be within the hour. `ticket`: it can wait for the morning.
   */
  readonly severity: Severity;
  readonly expr: string;
  /** How long the condition must last. */
  readonly for?: string;
  /**
   * How long the alert stays after the condition ends, so that an intermittent condition is one
   * alert.
   */
  readonly keepFiringFor?: string;
  /** One line for the person on call. */
  readonly summary: string;
  /** The effect on users, with the value. A Prometheus template. */
  readonly description: string;
  /** Cases in which it fires and in which it does not: promtool tries each. */
  readonly cases: readonly AlertCase[];
}

export type Severity = 'page' | 'ticket';

/** Series, and the alerts at some moments. */
export interface AlertCase {
  /** Continues the alert's name: "fires when …", "is silent while …". */
  readonly title: string;
  /**
   * Time between two evaluations: at the pace of a real Prometheus, cases of days and weeks would
   * take minutes.
   */
  readonly pace?: Pace;
  /** In promtool's notation: a value each minute; at the pace of `6h` a value each six hours. */
  readonly series: Readonly<Record<string, string>>;
  readonly moments: readonly Moment[];
}

export type Pace = '1m' | '5m' | '30m' | '6h';

export interface Moment {
  readonly at: string;
  /** The alerts of this name and severity that fire; empty if it is silent. */
  readonly firing: readonly Firing[];
}

export interface Firing {
  readonly labels?: Readonly<Record<string, string>>;
  /** The rendered templates. If left out: the alert's own text, which has no template then. */
  readonly summary?: string;
  readonly description?: string;
}
