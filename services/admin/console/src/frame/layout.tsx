import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useEffect, useState } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { reconnectNow, useConnection } from '../api/live.ts';
import { useSigned } from '../api/session.tsx';
import { Button } from '../ui/button.tsx';
import { Fence } from '../ui/fence.tsx';
import { Empty, Failure } from '../ui/state.tsx';
import { Countdown } from '../ui/time.tsx';
import { Navigation, WhoAmI } from './navigation.tsx';
import { Page } from './page.tsx';
import { pages } from './pages.ts';
import { SearchBox } from './search-box.tsx';
import { SimulationNote } from './simulation-note.tsx';

/** Navigation, search and connection state around the page. */
export function Layout() {
  const { role, may } = useSigned();
  const [pathname] = useLocation();
  const [menuOpen, setMenuOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the menu.
  useEffect(() => setMenuOpen(false), [pathname]);
  const mine = pages.filter((page) =>
    role === Role.UNSPECIFIED ? page.role === role : may(page.role) && page.role !== Role.UNSPECIFIED,
  );
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="side" data-open={menuOpen}>
        <div className="brand">
          <img src="/favicon.svg" alt="" width="20" height="20" />
          <span>Gateway</span>
          <button
            type="button"
            className="menu-button"
            aria-expanded={menuOpen}
            aria-controls="menu"
            onClick={() => setMenuOpen(!menuOpen)}
          >
            Menu
          </button>
        </div>
        <div className="menu" id="menu">
          <Navigation pages={mine} />
          <WhoAmI />
        </div>
      </header>
      <div className="stage">
        <div className="bar-top">
          {role !== Role.UNSPECIFIED && <SearchBox />}
          {role !== Role.UNSPECIFIED && <SimulationNote />}
          <ConnectionNote />
        </div>
        <main id="main" tabIndex={-1}>
          <Fence key={pathname} instead={brokenPage}>
            <Switch>
              {mine.map(({ path, component }) => (
                <Route key={path} path={path} component={component} />
              ))}
              <Route component={Elsewhere} />
            </Switch>
          </Fence>
        </main>
      </div>
    </div>
  );
}

/** Shows whether the data is live. */
function ConnectionNote() {
  const connection = useConnection();
  const state = connection?.state;
  return (
    <div className="connection" data-state={state}>
      <span role="status">
        {state === 'lost' ? 'Connection lost. The data shown is out of date.' : state === 'live' ? 'Live' : ''}
      </span>
      {connection?.state === 'lost' && (
        <>
          <span className="faint">
            Retrying in <Countdown to={connection.retryAtMs} />
          </span>
          <Button kind="quiet" onClick={reconnectNow}>
            Retry now
          </Button>
        </>
      )}
    </div>
  );
}

/** Shown if a page can't be rendered. */
function brokenPage(why: string) {
  const problem = { kind: 'other', fields: {}, text: `This page can't be shown. ${why}` } as const;
  return <Failure problem={problem} retryLabel="Reload" onRetry={() => window.location.reload()} />;
}

/** Shown if a page does not exist, or the signed-in role may not see it. */
function Elsewhere() {
  const { role, may } = useSigned();
  const [pathname] = useLocation();
  if (pathname === '/' && role === Role.UNSPECIFIED) {
    const own = pages.find((page) => page.role === role);
    if (own !== undefined) return <Redirect to={own.path} replace />;
  }
  const closed = pages.some((page) => page.path !== '/' && pathname.startsWith(page.path) && !may(page.role));
  return (
    <Page title={closed ? 'Access denied' : 'Page not found'}>
      <Empty title={closed ? 'Your role does not give access to this page.' : `No page at ${pathname}.`}>
        {closed
          ? 'Ask an admin to change your role.'
          : 'Use the navigation to reach a page, or the search box to find an id.'}
      </Empty>
    </Page>
  );
}
