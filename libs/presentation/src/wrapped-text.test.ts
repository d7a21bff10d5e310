import { expect, it } from 'vitest';
import { wrapText } from './wrapped-text.ts';

it('fills lines up to the width', () => {
  expect(wrapText('one two\nthree four', 9)).toBe('one two\nthree\nfour');
  expect(wrapText('12345 789', 9)).toBe('12345 789');
});

it('keeps paragraphs apart and words whole', () => {
  expect(wrapText('first one\n\nsecond-word', 5)).toBe('first\none\n\nsecond-word');
});

it('indents the lines after the first one', () => {
  expect(wrapText('- one two', 6, '  ')).toBe('- one\n  two');
});
