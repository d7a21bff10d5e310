import type { ReactNode } from 'react';
import type { Problem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ProblemNote } from './state.tsx';

interface FormDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** The deed: "Add account". */
  readonly submitLabel: string;
  readonly busy: boolean;
  readonly problem: Problem | undefined;
  /** Fields whose problems are said at them. */
  readonly fields: readonly string[];
  readonly onSubmit: () => void;
  readonly onClose: () => void;
}

/** Input that is sent as a whole. The caller closes it when that is done. */
export function FormDialog({
  title,
  children,
  submitLabel,
  busy,
  problem,
  fields,
  onSubmit,
  onClose,
}: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) onSubmit();
        }}
      >
        <div className="dialog-body">
          {children}
          <FormProblem problem={problem} fields={fields} />
        </div>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={busy}>
            {submitLabel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Why a form was not taken, with what is wrong with fields that it does not show. */
export function FormProblem({ problem, fields }: Pick<FormDialogProps, 'problem' | 'fields'>) {
  if (problem === undefined) return null;
  const elsewhere = Object.entries(problem.fields).filter(([field]) => !fields.includes(field));
  const texts = elsewhere.map(([field, text]) => `${field}: ${text}`);
  return <ProblemNote problem={{ ...problem, text: [problem.text, ...texts].join(' ') }} />;
}
