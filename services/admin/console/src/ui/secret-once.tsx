import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';
import { CheckField } from './field.tsx';

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** "token" */
  readonly what: string;
  readonly onClose: () => void;
  /** What it is good for, and who should have it. */
  readonly children: ReactNode;
}

/** A secret that is nowhere else, ever: it stays until somebody says that it is kept. */
export function SecretOnce({ title, secret, what, onClose, children }: SecretOnceProps) {
  const [kept, setKept] = useState(false);
  return (
    <Dialog title={title} onClose={onClose} closable={false}>
      <div className="dialog-body">
        <p>
          <strong>This {what} is shown now and never again.</strong> {children}
        </p>
        <div className="secret">
          <code>{secret}</code>
          <CopyButton text={secret} what={what} />
        </div>
        <CheckField label={`I have kept the ${what}`} checked={kept} onChecked={setKept} />
      </div>
      <div className="dialog-actions">
        <Button kind="primary" disabled={!kept} onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
