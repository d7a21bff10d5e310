import type { Transport } from '@connectrpc/connect';
import { TransportProvider } from '@connectrpc/connect-query';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { mayPass } from '../api/problem.ts';
import { noticeEndOfSession, SessionGate } from '../api/session.tsx';
import { Notices } from '../ui/notice.tsx';
import { Layout } from './layout.tsx';
import { SignInPage } from './sign-in-page.tsx';
import { applyTheme } from './theme.ts';
import '../styles/tokens.css';
import '../styles/base.css';
import '../styles/frame.css';
import '../styles/page.css';
import '../styles/controls.css';
import '../styles/table.css';
import '../styles/chart.css';
import '../styles/data.css';

/** The whole console, with the given transport. */
export function startConsole(transport: Transport): void {
  applyTheme();
  const root = document.getElementById('console');
  if (root === null) throw new Error('The page has no element "console".');
  createRoot(root).render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={queryClient()}>
        <Notices>
          <SessionGate signIn={(hasEnded) => <SignInPage hasEnded={hasEnded} />}>
            <Layout />
          </SessionGate>
        </Notices>
      </QueryClientProvider>
    </TransportProvider>,
  );
}

function queryClient(): QueryClient {
  const onError = (error: Error) => noticeEndOfSession(client, error);
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: { staleTime: 5_000, retry: (failures, error) => failures < 2 && mayPass(error) },
      mutations: { retry: false },
    },
  });
  return client;
}
