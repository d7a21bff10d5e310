import type { ComponentProps } from 'react';
import type { Problem } from '../api/problem.ts';
import { ProblemNote } from './state.tsx';

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  /** While waiting for an answer, it is not submitted again. */
  readonly busy?: boolean;
  readonly onSubmit: () => void;
}

/** Input that is submitted as a whole, by its button or by Enter. */
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

/**
 * The props of fields that show and change a draft, by its names. In the problems of a request a
 * field may have another name.
 */
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
  /**
   * Fields that show their own problems. If left out, only the problem of the whole form is shown.
   */
  readonly fields?: readonly string[] | undefined;
}

/** Why a form was refused, with the problems of fields that it does not show. */
export function FormProblem({ problem, fields }: FormProblemProps) {
  if (problem === undefined) return null;
  const elsewhere = Object.entries(problem.fields).filter(([field]) => fields?.includes(field) === false);
  const texts = elsewhere.map(([field, text]) => `${field}: ${text}`);
  return <ProblemNote>{[problem.text, ...texts].join(' ')}</ProblemNote>;
}
