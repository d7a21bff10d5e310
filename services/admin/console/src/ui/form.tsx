import type { ComponentProps } from 'react';
import type { Problem } from '../api/problem.ts';
import { ProblemNote } from './state.tsx';

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  /** Waits for an answer: is not sent again meanwhile. */
  readonly busy?: boolean;
  readonly onSubmit: () => void;
}

/** Input that is sent as a whole, by its button or by Enter. */
export function Form({ busy = false, onSubmit, ...rest }: FormProps) {
  return (
    <form
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) onSubmit();
      }}
    />
  );
}

/** What fields show and change of a draft, by its names. In the problems of a request a field may have another name. */
export function fieldsOf<D extends Readonly<Record<keyof D, string>>>(
  draft: D,
  onDraft: (draft: D) => void,
  problem?: Problem,
) {
  return (name: keyof D & string, nameInRequest: string = name) => ({
    value: draft[name],
    onValue: (value: string) => onDraft({ ...draft, [name]: value }),
    problem: problem?.fields[nameInRequest],
  });
}

interface FormProblemProps {
  readonly problem: Problem | undefined;
  /** Those whose problems are said at them. Left out: only the form as a whole has a problem to be said. */
  readonly fields?: readonly string[] | undefined;
}

/** Why a form was not taken, with what is wrong with fields that it does not show. */
export function FormProblem({ problem, fields }: FormProblemProps) {
  if (problem === undefined) return null;
  const elsewhere = Object.entries(problem.fields).filter(([field]) => fields?.includes(field) === false);
  const texts = elsewhere.map(([field, text]) => `${field}: ${text}`);
  return <ProblemNote>{[problem.text, ...texts].join(' ')}</ProblemNote>;
}
