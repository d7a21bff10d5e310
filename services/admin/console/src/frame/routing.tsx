import {
  type ComponentProps,
  type ComponentType,
  createContext,
  type MouseEvent,
  use,
  useEffect,
  useMemo,
  useSyncExternalStore,
} from 'react';

// As much of react-router as the console needs, by the same names: the library alone would be a fifteenth of all script.

export function useLocation(): URL {
  const href = useSyncExternalStore(onMove, () => window.location.href);
  return useMemo(() => new URL(href), [href]);
}

function onMove(listener: () => void): () => void {
  window.addEventListener('popstate', listener);
  return () => window.removeEventListener('popstate', listener);
}

/** Goes to an address of the console: "/tokens/…", or "?day=…" on the page that is shown. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(null, '', to);
  else window.history.pushState(null, '', to);
  window.dispatchEvent(new PopStateEvent('popstate'));
}

/** What the address says after "?", and how to say something else there. */
export function useSearchParams(): readonly [URLSearchParams, (next: Parameters) => void] {
  const { search } = useLocation();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  return [parameters, (next) => navigate(addressOf(window.location.pathname, next))];
}

type Parameters = Readonly<Record<string, string>>;

/** A path with what is asked there. Empty values are left out. */
export function addressOf(path: string, parameters: Parameters): string {
  const given = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ''));
  return given.size === 0 ? path : `${path}?${given}`;
}

interface LinkProps extends Omit<ComponentProps<'a'>, 'href'> {
  readonly to: string;
}

/** A link to another page of the console. The browser opens new tabs and windows itself. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const elsewhere =
      event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0 || rest.target;
    if (event.defaultPrevented || elsewhere) return;
    event.preventDefault();
    navigate(to);
    window.scrollTo(0, 0);
  };
  return <a {...rest} href={to} onClick={follow} />;
}

/** A link that says whether it leads to where one is. `end`: not to what is below it either. */
export function NavLink({ end = false, ...rest }: LinkProps & { readonly end?: boolean }) {
  const { pathname } = useLocation();
  const here = pathname === rest.to || (!end && pathname.startsWith(`${rest.to}/`));
  return <Link {...rest} aria-current={here ? 'page' : undefined} />;
}

/** Goes on to another address at once. */
export function Navigate({ to, replace }: { readonly to: string; readonly replace?: boolean }) {
  useEffect(() => navigate(to, { replace }), [to, replace]);
  return null;
}

type Params = Readonly<Record<string, string | undefined>>;

const ParamsContext = createContext<Params>({});

/** The values of ":name" in the path of the page. */
export function useParams(): Params {
  return use(ParamsContext);
}

export interface Route {
  /** "/tokens/:tokenId" */
  readonly path: string;
  readonly component: ComponentType;
}

/** The first page whose path fits the address. */
export function Routes({
  routes,
  otherwise: Otherwise,
}: {
  readonly routes: readonly Route[];
  readonly otherwise: ComponentType;
}) {
  const { pathname } = useLocation();
  for (const { path, component: Component } of routes) {
    const params = paramsOf(path, pathname);
    if (params === undefined) continue;
    return (
      <ParamsContext value={params}>
        <Component />
      </ParamsContext>
    );
  }
  return <Otherwise />;
}

function paramsOf(path: string, pathname: string): Params | undefined {
  const pattern = path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)');
  const match = new RegExp(`^${pattern}/?$`).exec(pathname);
  if (match === null) return undefined;
  return Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text)]));
}
