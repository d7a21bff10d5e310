import { type ReactNode, useEffect, useRef } from 'react';
import { Fence } from '../ui/fence.tsx';

interface PageProps {
  /** The heading, and the title of the browser's tab. */
  readonly title: string;
  /** One line about the page. */
  readonly about?: ReactNode;
  /** Buttons beside the heading. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

let firstPage = true;

/** A page with its heading. After a link the heading gets the focus, as on a newly loaded page. */
export function Page({ title, about, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Gateway`;
  }, [title]);
  useEffect(() => {
    if (!firstPage) heading.current?.focus();
    firstPage = false;
  }, []);
  return (
    <>
      <div className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about !== undefined && <p className="about">{about}</p>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </div>
      {children}
    </>
  );
}

/** A part of a page, with a heading of its own. */
export function Panel({
  title,
  aside,
  wide = false,
  children,
}: {
  readonly title: string;
  /** Beside the heading: a figure, a button. */
  readonly aside?: ReactNode;
  /** Uses the whole width of a grid of panels. */
  readonly wide?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <section className={wide ? 'panel wide' : 'panel'} aria-label={title}>
      <div className="panel-head">
        <h2>{title}</h2>
        {aside !== undefined && <div className="panel-aside">{aside}</div>}
      </div>
      <Fence of={children} instead={(why) => <p className="state bad">This part can't be shown. {why}</p>}>
        {children}
      </Fence>
    </section>
  );
}

/** One named value, in a list of `facts`. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
