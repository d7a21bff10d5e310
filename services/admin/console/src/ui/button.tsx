import type { ComponentProps } from 'react';

interface ButtonProps extends ComponentProps<'button'> {
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  /** While waiting for an answer, it cannot be pressed again, and keeps the focus. */
  readonly busy?: boolean;
}

export function Button({ kind = 'plain', busy = false, type = 'button', onClick, ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={busy ? 'button' : type}
      className={`button ${kind}`}
      aria-disabled={busy || undefined}
      data-busy={busy || undefined}
      onClick={busy ? undefined : onClick}
    />
  );
}
