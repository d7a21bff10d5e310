import { exportLine } from '@gateway/presentation';
import { CopyButton } from '../../ui/copy-button.tsx';

/** A token's text, which is here and nowhere else. */
export function NewTokenText({ text }: { readonly text: string }) {
  const line = exportLine(text);
  return (
    <div className="stack">
      <p>
        <strong>It is shown now and never again.</strong> Put it where its holder finds it before you leave this page.
      </p>
      <p className="secret">
        <code>{text}</code>
        <CopyButton text={text} what="token" />
      </p>
      <p>For a shell, and all that is set up below:</p>
      <p className="secret">
        <code>{line}</code>
        <CopyButton text={line} what="line" />
      </p>
    </div>
  );
}
