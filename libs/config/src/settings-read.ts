/** Where the admin service asks a process what it runs with, by POST. The answer is JSON: a list of `SettingRead`. */
export const settingsPath = '/settings';

/** A setting that this process has read, as it may be shown. */
export interface SettingRead {
  readonly name: string;
  /** "(set)" of a secret. Empty: it is not set, and there is no default. */
  readonly value: string;
  readonly origin: SettingOrigin;
}

type SettingOrigin = 'environment' | 'file' | 'default';

const read = new Map<string, SettingRead>();

/** What the process runs with so far, in the order of names. */
export function settingsRead(): readonly SettingRead[] {
  return [...read.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Notes a setting that was read. A default that another reader knows is not forgotten. */
export function noteSetting(name: string, value: string, origin: SettingOrigin): void {
  if (value === '' && read.get(name)?.origin === origin) return;
  read.set(name, { name, value: origin === 'default' ? value : shownValue(name, value), origin });
}

/** A secret is known by the setting's name; one in a URL stands before "@" or behind "?". */
function shownValue(name: string, value: string): string {
  if (/(^|_)(KEYS?|PASSWORD|SECRET|TOKEN|SEED|CREDENTIALS?)$/.test(name)) return '(set)';
  if (!/[@?]/.test(value)) return value;
  const url = URL.parse(value);
  // Where a password is not written as URLs want it, nothing is shown.
  if (url === null || (value.includes('@') && url.username + url.password === '')) return '(set)';
  const user = value.includes('@') ? '(set)@' : '';
  return url.pathname.includes('@') ? '(set)' : `${url.protocol}//${user}${url.host}${url.pathname}`;
}
