import type { Alert } from './alert.ts';
import { backendAlerts } from './backends.ts';
import { burnRateAlerts } from './burn-rates.ts';
import { ledgerAlerts } from './ledger.ts';
import { limitAlerts } from './limits.ts';
import { peopleAlerts } from './people.ts';
import { poolAlerts } from './pools.ts';
import { processAlerts } from './processes.ts';

/** By the name of their group. */
export const alertGroups: Readonly<Record<string, readonly Alert[]>> = {
  'gateway-burn-rates': burnRateAlerts,
  'gateway-pools': poolAlerts,
  'gateway-limits': limitAlerts,
  'gateway-ledger': ledgerAlerts,
  'gateway-backends': backendAlerts,
  'gateway-processes': processAlerts,
  'gateway-people': peopleAlerts,
};

export const allAlerts: readonly Alert[] = Object.values(alertGroups).flat();
