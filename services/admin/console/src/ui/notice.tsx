import { createContext, type ReactNode, use, useCallback, useEffect, useState } from 'react';

const NotifyContext = createContext<(text: string) => void>(() => {});

/**
 * Shows in a corner, and to screen readers, that an action succeeded. Errors are shown where they
 * happen.
 */
export function useNotify(): (text: string) => void {
  return use(NotifyContext);
}

export function Notices({ children }: { readonly children: ReactNode }) {
  const [notice, setNotice] = useState({ text: '', number: 0 });
  const notify = useCallback((text: string) => setNotice(({ number }) => ({ text, number: number + 1 })), []);
  useEffect(() => {
    if (notice.text === '') return;
    const timer = setTimeout(() => setNotice((before) => ({ ...before, text: '' })), 6_000);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <NotifyContext value={notify}>
      {children}
      <div className="notices" role="status">
        {notice.text !== '' && (
          <p key={notice.number} className="notice">
            {notice.text}
          </p>
        )}
      </div>
    </NotifyContext>
  );
}
