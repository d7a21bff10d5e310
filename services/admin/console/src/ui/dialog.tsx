import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { type ChangeOptions, useChange } from '../api/change.ts';
import type { Problem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { CheckField } from './field.tsx';
import { Form, FormProblem } from './form.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** If false, Escape does not close it: it shows something that is seen only once. */
  readonly closable?: boolean;
}

/**
 * A modal dialog, open while it is rendered. The browser keeps the focus in it, and restores the
 * focus afterwards.
 */
function Dialog({ title, onClose, closable = true, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // It must close before it leaves the page: only then does the browser restore the focus.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (closable) onClose();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ChangeDialogProps<I extends DescMessage, O extends DescMessage> extends ChangeOptions<O> {
  readonly title: string;
  /** The input; or the effect of the action, also on requests in progress. */
  readonly children: ReactNode | ((problem: Problem | undefined) => ReactNode);
  /** The action: "Disable account", never "OK". */
  readonly submitLabel: string;
  readonly danger?: boolean;
  readonly method: DescMethodUnary<I, O>;
  readonly input: MessageInitShape<I>;
  /** As in FormProblem. */
  readonly fields?: readonly string[];
  /** What another person changed, beside a conflict. */
  readonly conflict?: ReactNode;
  /** The children say what another person changed: a conflict is not shown again. */
  readonly explainsConflict?: boolean;
  readonly onClose: () => void;
}

/** Confirms a change, or asks for its input. It closes after the change, unless `onDone` is set. */
export function ChangeDialog<I extends DescMessage, O extends DescMessage>({
  title,
  children,
  submitLabel,
  danger = false,
  method,
  input,
  fields,
  conflict,
  explainsConflict = false,
  onClose,
  ...options
}: ChangeDialogProps<I, O>) {
  const { run, busy, problem } = useChange(method, { onDone: onClose, ...options });
  const isConflict = problem?.kind === 'conflict';
  return (
    <Dialog title={title} onClose={onClose}>
      <Form busy={busy} onSubmit={() => run(input)}>
        <div className="stack">
          {isConflict && conflict}
          {typeof children === 'function' ? children(problem) : children}
          <FormProblem problem={isConflict && explainsConflict ? undefined : problem} fields={fields} />
        </div>
        <div className="row dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind={danger ? 'danger' : 'primary'} type="submit" busy={busy}>
            {submitLabel}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** "token" */
  readonly what: string;
  readonly onClose: () => void;
  /** The use of the secret, and who should have it. */
  readonly children: ReactNode;
}

/**
 * A secret that is shown only here: the dialog stays open until the person confirms that it is
 * saved.
 */
export function SecretOnce({ title, secret, what, onClose, children }: SecretOnceProps) {
  const [kept, setKept] = useState(false);
  return (
    <Dialog title={title} onClose={onClose} closable={false}>
      <div className="stack">
        <p>
          <strong>Copy this {what} now; you won't see it again.</strong> {children}
        </p>
        <div className="secret">
          <code>{secret}</code>
          <CopyButton text={secret} what={what} />
        </div>
        <CheckField label={`I have saved the ${what}`} checked={kept} onChecked={setKept} />
      </div>
      <div className="row dialog-actions">
        <Button kind="primary" disabled={!kept} onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
