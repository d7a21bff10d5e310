import { formatCount, moneyText } from '@gateway/presentation';

/** What receivers are warned about, as in gateway.yaml. */
export type AlertKind = LimitUse['kind'] | 'account' | 'pool' | 'people';

/** How much of a limit was used in its current period. */
export interface LimitUse {
  readonly kind: 'tokens_per_day' | 'group_tokens_per_day' | 'budget';
  /** The id of a token or a group. */
  readonly subject: string;
  /** A label or a name. */
  readonly name: string;
  /** Tokens, or millionths of the currency. */
  readonly used: number;
  readonly limit: number;
  readonly currency: string;
  readonly span: 'day' | 'week' | 'month';
  /** The local day on which the period began. */
  readonly firstDay: string;
}

/** A finding of `attention.ts`. */
export interface FoundCause {
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
  readonly link: string;
}

/** One thing to warn about. In a period, each receiver gets one message for a cause. */
export interface Cause extends Omit<FoundCause, 'kind'> {
  readonly kind: AlertKind | 'test';
  readonly cause: string;
  readonly period: string;
  /** The numbers in the text. */
  readonly details: Readonly<Record<string, string | number>>;
}

/** In per cent of a limit. */
export const thresholds = [100, 80, 50] as const;

/**
 * The causes of warnings in these readings. A limit has one: the highest threshold that was
 * reached. So a threshold that was jumped over causes no message.
 *
 * @param today the period of findings: what lasts is repeated every day.
 */
export function causesOf(uses: readonly LimitUse[], findings: readonly FoundCause[], today: string): readonly Cause[] {
  return [...uses.flatMap(causeOfUse), ...findings.flatMap((found) => causeOfFinding(found, today))];
}

function causeOfUse(use: LimitUse): readonly Cause[] {
  const { kind, subject, name, used, limit, span, firstDay } = use;
  // A limit of 0 is a ban.
  const reached = limit === 0 ? undefined : thresholds.find((each) => used * 100 >= limit * each);
  if (reached === undefined) return [];
  const percent = Math.floor((used * 100) / limit);
  const amount = (value: number) => (kind === 'budget' ? moneyText(value, use.currency) : formatCount(value));
  const owner = kind === 'tokens_per_day' ? 'token' : 'group';
  const link = `/${owner}s/${subject}`;
  const what = kind === 'budget' ? 'budget' : 'tokens';
  return [
    {
      ...{ kind, subject, link },
      cause: `${kind}:${subject}:${reached}`,
      period: `${span} ${firstDay}`,
      text: `The ${owner} ${name} used ${percent} % of its ${what} for ${spans[span]} (${amount(used)} of ${amount(limit)}).`,
      details: {
        ...{ name, threshold: reached, percent, used, limit },
        ...(kind === 'budget' && { currency: use.currency }),
      },
    },
  ];
}

const spans = { day: 'today', week: 'this week', month: 'this month' } as const;

function causeOfFinding({ kind: found, subject, text, link }: FoundCause, today: string): readonly Cause[] {
  const kind = kindsOfFindings.get(found);
  if (kind === undefined) return [];
  return [{ kind, subject, text, link, cause: `${found}:${subject}`, period: `day ${today}`, details: {} }];
}

const kindsOfFindings: ReadonlyMap<string, AlertKind> = new Map([
  ['account_failing', 'account'],
  ['account_out_of_service', 'account'],
  ['pool_ending', 'pool'],
  ['pool_exhausted', 'pool'],
  ['group_missing', 'people'],
]);
