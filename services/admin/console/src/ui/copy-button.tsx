import { Button } from './button.tsx';
import { useNotify } from './notice.tsx';

interface CopyButtonProps {
  /** Copied as it is: a text of whole lines ends with one line break. */
  readonly text: string;
  /** The kind of the text: "request id". */
  readonly what: string;
  readonly label?: string;
}

export function CopyButton({ text, what, label = 'Copy' }: CopyButtonProps) {
  const notify = useNotify();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      notify(`Copied the ${what}.`);
    } catch {
      notify(`Your browser blocked the copy. Select the ${what} and copy it manually.`);
    }
  };
  return (
    <Button kind="quiet" aria-label={`${label} the ${what}`} onClick={copy}>
      {label}
    </Button>
  );
}
