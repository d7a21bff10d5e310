import type { Migration } from 'kysely/migration';
import * as tokens from './20261120090000-tokens.ts';
import * as usage from './20261120090100-usage.ts';
import * as usageByDay from './20261121090000-usage-by-day.ts';
import * as accounts from './20261121100000-accounts.ts';
import * as requestLog from './20261122090000-request-log.ts';
import * as operators from './20261123060000-operators.ts';
import * as tokenDetails from './20261123061000-token-details.ts';
import * as accountUses from './20261123061100-account-uses.ts';
import * as usageAccounts from './20261123062000-usage-accounts.ts';
import * as adminKeys from './20261124060000-admin-keys.ts';
import * as groups from './20261127090000-groups.ts';
import * as cost from './20261127091000-cost.ts';
import * as people from './20261127093000-people.ts';
import * as alerts from './20261127120000-alerts.ts';
import * as personConsole from './20261127160000-person-console.ts';
import * as personGrants from './20261127210000-person-grants.ts';
import * as pricedParts from './20261128120000-priced-parts.ts';
import * as peopleWhoLeave from './20261128210000-people-who-leave.ts';
import * as grantNetworks from './20261128214500-grant-networks.ts';
import * as unpricedModels from './20261128220000-unpriced-models.ts';
import * as oneDailySum from './20261129010000-one-daily-sum.ts';
import * as newRequestLog from './20261129020000-new-request-log.ts';

/**
 * All migrations by name; the leading timestamp determines their order. A migration that has run
 * anywhere never changes: a new one follows it. Each migration must keep the previous release
 * working, because both releases run side by side during an upgrade; docs/operate/stopping.md names
 * the exceptions.
 */
export const migrations: Readonly<Record<string, Migration>> = {
  '20261120090000-tokens': tokens,
  '20261120090100-usage': usage,
  '20261121090000-usage-by-day': usageByDay,
  '20261121100000-accounts': accounts,
  '20261122090000-request-log': requestLog,
  '20261123060000-operators': operators,
  '20261123061000-token-details': tokenDetails,
  '20261123061100-account-uses': accountUses,
  '20261123062000-usage-accounts': usageAccounts,
  '20261124060000-admin-keys': adminKeys,
  '20261127090000-groups': groups,
  '20261127091000-cost': cost,
  '20261127093000-people': people,
  '20261127120000-alerts': alerts,
  '20261127160000-person-console': personConsole,
  '20261127210000-person-grants': personGrants,
  '20261128120000-priced-parts': pricedParts,
  '20261128210000-people-who-leave': peopleWhoLeave,
  '20261128214500-grant-networks': grantNetworks,
  '20261128220000-unpriced-models': unpricedModels,
  '20261129010000-one-daily-sum': oneDailySum,
  '20261129020000-new-request-log': newRequestLog,
};
