/** The result of one check. */
export type Finding = {
  readonly about: string;
  /** A note says what a person should know, and fails nothing. */
  readonly state: 'fine' | 'note' | 'warning' | 'wrong';
  readonly text: string;
  /** The remedy. Empty if there is none, or the text contains it. */
  readonly remedy: string;
};

export const fine = (about: string, text: string): Finding => ({ about, state: 'fine', text, remedy: '' });
export const note = (about: string, text: string, remedy: string): Finding => ({ about, state: 'note', text, remedy });
export const warning = (about: string, text: string, remedy = ''): Finding => ({
  ...{ about, state: 'warning', text, remedy },
});
export const wrong = (about: string, text: string, remedy = ''): Finding => ({ about, state: 'wrong', text, remedy });
