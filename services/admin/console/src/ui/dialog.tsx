import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import type { Problem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { ProblemNote } from './state.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** False keeps Escape from closing it: what it shows is seen only once. */
  readonly closable?: boolean;
}

/** A modal dialog, open as long as it is rendered. The browser keeps the focus in it, and gives it back afterwards. */
export function Dialog({ title, onClose, closable = true, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before it leaves the page: only then does the browser give the focus back.
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

interface ConfirmProps {
  readonly title: string;
  /** What will happen, and what it means for requests under way. */
  readonly children: ReactNode;
  /** The deed: "Disable account", never "OK". */
  readonly confirmLabel: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly problem?: Problem | undefined;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something is done. The caller closes it when it is done. */
export function ConfirmDialog({
  title,
  children,
  confirmLabel,
  danger = false,
  busy,
  problem,
  onConfirm,
  onClose,
}: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-body">
        {children}
        {problem !== undefined && <ProblemNote problem={problem} />}
      </div>
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
