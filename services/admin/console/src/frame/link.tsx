import type { ComponentProps } from 'react';
import { Link as RouterLink, useLocation } from 'wouter';

interface LinkProps extends Omit<ComponentProps<'a'>, 'href'> {
  readonly to: string;
}

/** A link to another page of the console, which starts at its top. */
export function Link({ onClick, ...rest }: LinkProps) {
  return (
    <RouterLink
      {...rest}
      onClick={(event) => {
        onClick?.(event);
        if (!event.defaultPrevented) window.scrollTo(0, 0);
      }}
    />
  );
}

/**
 * A link that is marked while its page is shown. With `end` it is marked only on this page, not on
 * the pages below it.
 */
export function NavLink({ end = false, ...rest }: LinkProps & { readonly end?: boolean }) {
  const [pathname] = useLocation();
  const here = pathname === rest.to || (!end && pathname.startsWith(`${rest.to}/`));
  return <Link {...rest} aria-current={here ? 'page' : undefined} />;
}
