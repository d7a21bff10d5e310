import { useMutation, useQuery } from '@connectrpc/connect-query';
import { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { problemOf } from '../api/problem.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';

/** For operators, and for holders of a caller's token who want to see their own usage. */
export function SignInPage({ hasEnded }: { readonly hasEnded: boolean }) {
  const [token, setToken] = useState('');
  const { data } = useQuery(SessionService.method.getSignInOptions, {});
  const queries = useQueryClient();
  // All queries are fetched again.
  const begin = useMutation(SessionService.method.signIn, { onSuccess: () => queries.resetQueries() });
  const problem = begin.error === null ? undefined : problemOf(begin.error);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Sign in · Gateway';
    field.current?.focus();
  }, []);
  const label = data?.oidcLabel ?? '';
  const returnTo = encodeURIComponent(window.location.pathname + window.location.search);
  return (
    <main className="sign-in">
      <Form className="panel" busy={begin.isPending} onSubmit={() => begin.mutate({ token: token.trim() })}>
        <div className="brand">
          <img src="/favicon.svg" alt="" width="20" height="20" />
          <span>Gateway</span>
        </div>
        <h1>Sign in</h1>
        {hasEnded && <p role="alert">Your session has expired. Sign in again to continue where you left off.</p>}
        {label !== '' && (
          <>
            <a className="button primary" href={`/oidc/sign-in?return_to=${returnTo}`}>
              {label}
            </a>
            <p className="or">or</p>
          </>
        )}
        <TextField
          ref={field}
          label="Token"
          hint="An operator token (gw_a_…), or a caller's token to see its own usage and limits."
          type="password"
          autoComplete="current-password"
          required
          value={token}
          onValue={setToken}
          problem={
            problem?.fields.token ??
            (problem?.kind === 'signed out' ? 'This token is unknown, revoked or expired.' : problem?.text)
          }
        />
        <Button kind={label === '' ? 'primary' : 'plain'} type="submit" busy={begin.isPending}>
          Sign in
        </Button>
        <p className="about">
          The first admin token is in the gateway's data folder; <code>npm start</code> prints its path.
        </p>
      </Form>
    </main>
  );
}
