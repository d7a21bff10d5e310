import type { DashboardDescription } from './dashboard.ts';
import { ledgerAndDelivery } from './ledger-and-delivery.ts';
import { limitsAndTokens } from './limits-and-tokens.ts';
import { modelsAndProviders } from './models-and-providers.ts';
import { overview } from './overview.ts';
import { poolsAndAccounts } from './pools-and-accounts.ts';
import { servicesAndRuntime } from './services-and-runtime.ts';

export const dashboards: readonly DashboardDescription[] = [
  overview,
  modelsAndProviders,
  poolsAndAccounts,
  limitsAndTokens,
  ledgerAndDelivery,
  servicesAndRuntime,
];
