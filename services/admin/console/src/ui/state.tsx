import type { ReactNode } from 'react';
import { type Problem, problemOf } from '../api/problem.ts';
import { Button } from './button.tsx';

export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="state" role="status">
      <span className="spinner" aria-hidden="true" />
      Loading {what}…
    </p>
  );
}

/** Shown if a list is empty. The children say what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="state">
      <p className="state-title">{title}</p>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

interface FailureProps {
  readonly problem: Problem;
  readonly onRetry?: () => void;
  readonly retryLabel?: string;
}

/** Shown if the data could not be loaded. */
export function Failure({ problem, onRetry, retryLabel = 'Try again' }: FailureProps) {
  return (
    <div className="state bad" role="alert">
      <p className="state-title">{problem.text}</p>
      {Object.entries(problem.fields).map(([field, text]) => (
        <p key={field}>{text}</p>
      ))}
      {onRetry !== undefined && <Button onClick={onRetry}>{retryLabel}</Button>}
    </div>
  );
}

/** Why a change failed, beside its control. */
export function ProblemNote({ children }: { readonly children: ReactNode }) {
  return (
    <p className="problem-note" role="alert">
      {children}
    </p>
  );
}

interface Asked<T> {
  readonly data: T | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

/** Shows an answer, or why there is none. An answer stays when a later fetch fails. */
export function Answer<T>({
  of: { data, error, refetch },
  what,
  children,
}: {
  readonly of: Asked<T>;
  /** "the audit log" */
  readonly what: string;
  readonly children: (data: T) => ReactNode;
}) {
  if (data !== undefined)
    return (
      <>
        <OutOfDate error={error} />
        {children(data)}
      </>
    );
  return <NoAnswer of={{ error, refetch }} what={what} />;
}

interface NoAnswerProps {
  readonly of: Pick<Asked<unknown>, 'error' | 'refetch'>;
  readonly what: string;
  /** Shown if no object has that name. */
  readonly notFound?: ReactNode;
}

/** Shown while an answer is loaded. */
export function NoAnswer({ of: { error, refetch }, what, notFound }: NoAnswerProps) {
  if (error === null) return <Loading what={what} />;
  const problem = problemOf(error);
  if (problem.kind === 'not found' && notFound !== undefined) return notFound;
  return <Failure problem={problem} onRetry={() => refetch()} />;
}

/** Warns that the data is old, if it could not be fetched again. */
export function OutOfDate({ error }: { readonly error: Error | null }) {
  return error === null ? null : <ProblemNote>The data shown is out of date. {problemOf(error).text}</ProblemNote>;
}
