/** What Prometheus says when something needs a person. Its runbook is docs/operate/runbooks/<name>.md. */
export interface Alert {
  readonly name: string;
  /** `page`: users are hurt, or will be within the hour. `ticket`: it can wait for the morning. */
  readonly severity: Severity;
  readonly expr: string;
  /** How long it must be so. */
  readonly for?: string;
  /** How long it goes on after its end, so that what comes and goes is one alert. */
  readonly keepFiringFor?: string;
  /** One line for the person on call. */
  readonly summary: string;
  /** What it means for users, with the value. Prometheus' templates. */
  readonly description: string;
  /** When it fires and when it does not: promtool tries each. */
  readonly cases: readonly AlertCase[];
}

export type Severity = 'page' | 'ticket';

/** Series, and what Prometheus says about them at some moments. */
export interface AlertCase {
  /** Reads on from the alert's name: "fires when …", "is silent while …". */
  readonly title: string;
  /** Time between two evaluations: cases of days and weeks would take minutes at the pace of a real Prometheus. */
  readonly pace?: Pace;
  /** In promtool's notation: a value a minute; at the pace of `6h` a value each six hours. */
  readonly series: Readonly<Record<string, string>>;
  readonly moments: readonly Moment[];
}

export type Pace = '1m' | '5m' | '30m' | '6h';

export interface Moment {
  readonly at: string;
  /** The alerts of this name and severity that are firing; none: it is silent. */
  readonly firing: readonly Firing[];
}

export interface Firing {
  readonly labels?: Readonly<Record<string, string>>;
  /** What the templates become. Left out: the alert's own text, which has no template then. */
  readonly summary?: string;
  readonly description?: string;
}
