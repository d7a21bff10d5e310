/**
 * The path where the admin service asks a process for its settings, by POST. The answer is JSON: a
 * list of `SettingRead`.
 */
export const settingsPath = '/settings';

/** A setting that this process has read, in a form that may be shown. */
export interface SettingRead {
  readonly name: string;
  /** "(set)" for a secret. Empty when the setting is absent and has no default. */
  readonly value: string;
  readonly origin: SettingOrigin;
}

type SettingOrigin = 'environment' | 'file' | 'default';

const read = new Map<string, SettingRead>();

/** The settings that the process has read so far, sorted by name. */
export function settingsRead(): readonly SettingRead[] {
  return [...read.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Records a setting that was read. A default that another reader recorded is kept. */
export function noteSetting(name: string, value: string, origin: SettingOrigin): void {
  if (value === '' && read.get(name)?.origin === origin) return;
  read.set(name, { name, value: origin === 'default' ? value : shownValue(name, value), origin });
}

/**
 * A secret is recognised by the setting's name; a secret in a URL stands before "@" or after "?".
 */
function shownValue(name: string, value: string): string {
  if (/(^|_)(KEYS?|PASSWORD|SECRET|TOKEN|SEED|CREDENTIALS?)$/.test(name)) return '(set)';
  if (!/[@?]/.test(value)) return value;
  const url = URL.parse(value);
  // If a password is not percent-encoded, nothing is shown.
  if (url === null || (value.includes('@') && url.username + url.password === '')) return '(set)';
  const user = value.includes('@') ? '(set)@' : '';
  return url.pathname.includes('@') ? '(set)' : `${url.protocol}//${user}${url.host}${url.pathname}`;
}
