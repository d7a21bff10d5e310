/** Where the admin service asks a process what it runs with, by POST. The answer is JSON: a list of `SettingRead`. */
export const settingsPath = '/settings';
