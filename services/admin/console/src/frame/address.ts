import { useMemo } from 'react';
import { navigate, useSearch } from 'wouter/use-browser-location';

type Parameters = Readonly<Record<string, string>>;

/** A path with its query. Empty values are left out. */
export function addressOf(path: string, parameters: Parameters): string {
  const given = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ''));
  return given.size === 0 ? path : `${path}?${given}`;
}

/** The page of an account's pool, which shows the account. */
export function accountLink(accountId: string): string {
  return addressOf(`/pools/${accountId.split('/')[0]}`, { account: accountId });
}

/**
 * The query of the address, and a function that replaces it. The hook of the same name in wouter
 * decodes the query before it parses it, which changes values that contain a percent sign.
 */
export function useSearchParams(): readonly [URLSearchParams, (next: Parameters) => void] {
  const search = useSearch();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  return [parameters, (next) => navigate(addressOf(window.location.pathname, next))];
}
