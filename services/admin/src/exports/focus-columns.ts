import { endOfLocalDayMs, startOfLocalDayMs } from '@gateway/time';
import { type Columns, decimal, type PricedRow } from './export-columns.ts';

/**
 * A row of usage, by day, token, model and account, as a charge in the columns of FOCUS 1.2: those
 * that are mandatory, those of sub accounts, which are tokens here, and columns of its own. An
 * empty cell is a null. The gateway knows list prices only, so all costs are the same.
 * @see https://focus.finops.org/focus-specification/v1-2/
 */
export const focusColumns: Columns<PricedRow> = {
  BilledCost: costOf,
  BillingAccountId: ({ usage }) => usage.accountId || usage.provider,
  BillingAccountName: ({ usage }) => usage.accountId,
  BillingCurrency: ({ currency }) => currency,
  BillingPeriodEnd: ({ usage }) => instant(startOfLocalDayMs(monthOf(usage.localDay).add({ months: 1 }).toString())),
  BillingPeriodStart: ({ usage }) => instant(startOfLocalDayMs(monthOf(usage.localDay).toString())),
  ChargeCategory: () => 'Usage',
  ChargeClass: () => '',
  ChargeDescription: ({ usage }) => `Tokens of ${usage.model || 'an unknown model'}`,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: ({ usage }) => instant(endOfLocalDayMs(usage.localDay)),
  ChargePeriodStart: ({ usage }) => instant(startOfLocalDayMs(usage.localDay)),
  ContractedCost: costOf,
  EffectiveCost: costOf,
  InvoiceIssuerName: ({ usage }) => usage.provider,
  ListCost: costOf,
  PricingQuantity: ({ usage: { totals } }) => totals.inputTokens + totals.outputTokens,
  PricingUnit: () => 'Tokens',
  ProviderName: ({ usage }) => usage.provider,
  PublisherName: ({ usage }) => usage.provider,
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: ({ usage }) => usage.model,
  ServiceSubcategory: () => 'Generative AI',
  SubAccountId: ({ usage }) => usage.tokenId,
  SubAccountName: ({ tokenLabel }) => tokenLabel,
  SubAccountType: () => 'Token',
  x_Requests: ({ usage }) => usage.totals.requests,
  x_InputTokens: ({ usage }) => usage.totals.inputTokens,
  x_CachedTokens: ({ usage }) => usage.totals.cachedTokens,
  x_CacheWrite5mTokens: ({ usage }) => usage.totals.cacheWrite5mTokens,
  x_CacheWrite1hTokens: ({ usage }) => usage.totals.cacheWrite1hTokens,
  x_OutputTokens: ({ usage }) => usage.totals.outputTokens,
  x_UnpricedTokens: ({ cost }) => cost?.unpricedTokens ?? 0,
  x_UnpricedCalls: ({ cost }) => cost?.unpricedCalls ?? 0,
  x_CostComputedAfterwards: ({ cost }) => decimal(cost?.computedAfterwardsMicros ?? 0),
};

/** Only what a provider answered is a charge. */
export function isCharge({ usage: { provider, model } }: PricedRow): boolean {
  return provider !== '' && model !== '';
}

function costOf({ cost }: PricedRow): string {
  return decimal(cost?.micros ?? 0);
}

/** The first day of a month: bills are by the month. */
function monthOf(localDay: string): Temporal.PlainDate {
  return Temporal.PlainDate.from(localDay).with({ day: 1 });
}

/** In UTC, to the second. */
function instant(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
