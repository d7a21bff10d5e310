import { useSigned } from '../api/session.tsx';
import { Button } from '../ui/button.tsx';
import { roleNames } from './role-names.ts';
import { type Theme, useTheme } from './theme.ts';

/** Who has signed in, the way out, and the choice of the theme. */
export function WhoAmI() {
  const { name, role, signOut } = useSigned();
  const [theme, setTheme] = useTheme();
  return (
    <div className="who">
      <fieldset className="theme">
        <legend className="hidden">Theme</legend>
        {(['system', 'light', 'dark'] as const satisfies readonly Theme[]).map((each) => (
          <label key={each}>
            <input type="radio" name="theme" checked={theme === each} onChange={() => setTheme(each)} />
            <span>{each === 'system' ? 'Auto' : each === 'light' ? 'Light' : 'Dark'}</span>
          </label>
        ))}
      </fieldset>
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
