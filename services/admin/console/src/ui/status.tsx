import type { ReactNode } from 'react';

/** Good needs no action, warn may need action soon, bad needs action now. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral';

const shapes: Readonly<Record<Tone, ReactNode>> = {
  good: <path d="M2 5.2 4.2 7.4 8.2 2.8" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  warn: <path d="M5 1 9.4 9H.6Z" />,
  bad: <path d="M3 0h4l3 3v4l-3 3H3L0 7V3Z" />,
  info: <circle cx="5" cy="5" r="3.4" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  neutral: <path d="M1.5 5h7" fill="none" stroke="currentColor" strokeWidth="1.8" />,
};

/** A state as a shape, a colour and a word, so that none of them is needed alone. */
export function Status({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className="status" data-tone={tone}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" fill="currentColor">
        {shapes[tone]}
      </svg>
      {children}
    </span>
  );
}

/** How full something is. It becomes warn at 80 % and bad at 100 %, unless a tone is given. */
export function Bar({ share, label, tone }: { readonly share: number; readonly label: string; readonly tone?: Tone }) {
  const shown = Math.max(0, Math.min(1, share));
  const state = tone ?? (share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'info');
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw a <meter> each in its own way.
    <span
      className="meter"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(shown * 100)}
      aria-valuetext={`${Math.round(share * 100)} %`}
      data-tone={state}
    >
      <span style={{ inlineSize: `${shown * 100}%` }} />
    </span>
  );
}
