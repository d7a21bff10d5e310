import { useEffect, useRef } from 'react';
import { navigate } from 'wouter/use-browser-location';

/** Searches by id, label or account. "/" focuses it from any page. */
export function SearchBox() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const writing = event.target instanceof HTMLElement && event.target.closest(takesText);
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || writing) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const search = (form: FormData) => {
    const text = String(form.get('id') ?? '').trim();
    if (text !== '') navigate(`/search?q=${encodeURIComponent(text)}`);
  };
  return (
    <search className="search">
      <form action={search}>
        <label className="hidden" htmlFor="search">
          Find a request, token or account
        </label>
        <input
          ref={input}
          id="search"
          name="id"
          type="search"
          placeholder="Search ids, labels, accounts, pools"
          autoComplete="off"
          spellCheck={false}
        />
        <span className="key" aria-hidden="true">
          /
        </span>
      </form>
    </search>
  );
}

/** Where "/" is a character, not a shortcut. */
const takesText = 'input:not([type="radio"], [type="checkbox"], [type="file"]), textarea, dialog';
