import type { PageEntry } from './pages.ts';
import { NavLink } from './routing.tsx';

const groups = ['Watch', 'Manage', 'Gateway'] as const;

export function Navigation({ pages }: { readonly pages: readonly PageEntry[] }) {
  const listed = pages.filter((page) => page.label !== undefined);
  return (
    <nav aria-label="Pages">
      {groups.map((group) => {
        const own = listed.filter((page) => page.group === group);
        if (own.length === 0) return null;
        return (
          <div key={group} className="nav-group">
            <p id={`nav-${group}`}>{group}</p>
            <ul aria-labelledby={`nav-${group}`}>
              {own.map(({ path, label }) => (
                <li key={path}>
                  <NavLink to={path} end={path === '/'}>
                    {label}
                  </NavLink>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
