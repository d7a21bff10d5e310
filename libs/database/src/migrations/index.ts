/**
 * All migrations by name; the leading timestamp determines their order. A migration that has run
 * anywhere never changes: a new one follows it. Each migration must keep the previous release
 * working, because both releases run side by side during an upgrade; docs/operate/releases.md names
 * the exception.
 */
export * as '20261120090000-tokens' from './20261120090000-tokens.ts';
export * as '20261120090100-usage' from './20261120090100-usage.ts';
export * as '20261121090000-usage-by-day' from './20261121090000-usage-by-day.ts';
export * as '20261121100000-accounts' from './20261121100000-accounts.ts';
export * as '20261122090000-request-log' from './20261122090000-request-log.ts';
export * as '20261123060000-operators' from './20261123060000-operators.ts';
export * as '20261123061000-token-details' from './20261123061000-token-details.ts';
export * as '20261123061100-account-uses' from './20261123061100-account-uses.ts';
export * as '20261123062000-usage-accounts' from './20261123062000-usage-accounts.ts';
export * as '20261124060000-admin-keys' from './20261124060000-admin-keys.ts';
export * as '20261127090000-groups' from './20261127090000-groups.ts';
export * as '20261127091000-cost' from './20261127091000-cost.ts';
export * as '20261127093000-people' from './20261127093000-people.ts';
export * as '20261127120000-alerts' from './20261127120000-alerts.ts';
export * as '20261127160000-person-console' from './20261127160000-person-console.ts';
export * as '20261127210000-person-grants' from './20261127210000-person-grants.ts';
export * as '20261128120000-priced-parts' from './20261128120000-priced-parts.ts';
export * as '20261128210000-people-who-leave' from './20261128210000-people-who-leave.ts';
export * as '20261128214500-grant-networks' from './20261128214500-grant-networks.ts';
export * as '20261128220000-unpriced-models' from './20261128220000-unpriced-models.ts';
export * as '20261129010000-one-daily-sum' from './20261129010000-one-daily-sum.ts';
export * as '20261129020000-new-request-log' from './20261129020000-new-request-log.ts';
export * as '20261129030000-strict-tokens' from './20261129030000-strict-tokens.ts';
