import { useSigned } from '../api/session.tsx';
import { Button } from '../ui/button.tsx';
import { Choice } from '../ui/choice.tsx';
import { NavLink } from './link.tsx';
import type { PageEntry } from './pages.ts';
import { roleNames } from './role-names.ts';
import { type Theme, useTheme } from './theme.ts';

const groups = ['Watch', 'Manage', 'Gateway'] as const;

/** The pages that the signed-in role may see. */
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

/** The signed-in name, signing out, and the choice of the theme. */
export function WhoAmI() {
  const { name, role, signOut } = useSigned();
  const [theme, setTheme] = useTheme();
  return (
    <div className="who">
      <p className="faint small">Times are in {Intl.DateTimeFormat().resolvedOptions().timeZone}</p>
      <Choice className="theme" label="Theme" options={themes} value={theme} onValue={setTheme} />
      <div className="who-name">
        <div>
          <strong>{name}</strong>
          <span className="faint">{roleNames[role]}</span>
        </div>
        <Button kind="quiet" onClick={signOut}>
          Sign out
        </Button>
      </div>
    </div>
  );
}

const themes: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'system', label: 'Auto' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];
