import type { DescMessage, DescMethodUnary, DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { useMutation } from '@connectrpc/connect-query';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from '../ui/notice.tsx';
import { type Problem, problemOf } from './problem.ts';

export interface ChangeOptions<O extends DescMessage> {
  /** Services whose queries are fetched again afterwards. The method's own service always is. */
  readonly alsoRefresh?: readonly DescService[];
  /** Shows in a corner that the change succeeded. */
  readonly notice?: (answer: MessageShape<O>) => string;
  readonly onDone?: (answer: MessageShape<O>) => void;
}

export interface Change<I extends DescMessage> {
  /** Makes the change. Never throws: an error is in `problem`. */
  readonly run: (input: MessageInitShape<I>) => void;
  readonly busy: boolean;
  readonly problem: Problem | undefined;
  /** Clears the problem before a new attempt. */
  readonly reset: () => void;
}

/**
 * A call that changes something. The page's queries are fetched again afterwards, also after a
 * conflict.
 */
export function useChange<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  { alsoRefresh = [], notice, onDone }: ChangeOptions<O> = {},
): Change<I> {
  const queries = useQueryClient();
  const notify = useNotify();
  const mutation = useMutation(method, {
    // Input and answer may contain a secret: they are dropped when the component is unmounted.
    gcTime: 0,
    onSuccess: (answer) => {
      if (notice !== undefined) notify(notice(answer));
      onDone?.(answer);
    },
    onSettled: () => {
      const services = [method.parent, ...alsoRefresh].map((service) => service.typeName);
      return queries.invalidateQueries({ predicate: ({ queryKey }) => services.includes(serviceOf(queryKey)) });
    },
  });
  return {
    run: (input) => mutation.mutate(input),
    busy: mutation.isPending,
    problem: mutation.error === null ? undefined : problemOf(mutation.error),
    reset: mutation.reset,
  };
}

/** The keys of connect-query are `["connect-query", { serviceName, … }]`. */
function serviceOf(queryKey: readonly unknown[]): string {
  const details = queryKey[1];
  if (typeof details !== 'object' || details === null || !('serviceName' in details)) return '';
  return String(details.serviceName);
}
