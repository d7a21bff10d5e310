/** A phrase that readers stumble over, and what to write instead. */
export interface Riddle {
  readonly phrase: RegExp;
  readonly instead: string;
}

/**
 * The phrases behind the pairs in docs/develop/writing.md.
 * Add only phrases without a correct use: the check allows no exceptions.
 */
export const riddles: readonly Riddle[] = [
  // Subjects that are not part of the system.
  { phrase: /\bnobody\b/i, instead: 'name the subject, or "no one"' },
  { phrase: /\bwhoever\b/i, instead: 'name the subject: "a caller that …", "anyone with …"' },
  { phrase: /\bsomebody\b/i, instead: '"someone", or name the subject' },
  { phrase: /\bwho(?:m)? (?:he|she) is\b/i, instead: '"is authenticated"' },

  // Inversions: the object comes before the subject.
  {
    phrase: /(?:^|[.:;!?]\s+)of (?:two|three|several|more|these|those|what|an?|each|the|which)\b/i,
    instead: 'begin with the subject',
  },
  { phrase: /\bno (?:waiting|client|server|process) mends\b/i, instead: 'begin with the subject' },
  { phrase: /\bas (?:it|they) (?:must|should) be\b/i, instead: 'say what is valid' },
  { phrase: /\bhas it that\b/i, instead: '"says that"' },
  { phrase: /\bhas (?:it|them) (?:ask|read|be|go|take|keep)\b/i, instead: '"makes it ask"' },

  // Words of a dialect.
  { phrase: /\bcan not\b/i, instead: '"cannot" or "can\'t"' },
  { phrase: /\bmend(?:s|ed|ing)?\b/i, instead: '"fix", "repair", "correct"' },
  { phrase: /\banew\b/i, instead: '"again"; of a counter: "is reset"' },
  { phrase: /\bmade (?:new|over)\b/i, instead: '"recreated"' },
  { phrase: /\bgo(?:es|ing)? by\b/i, instead: '"uses", "follows"' },
  { phrase: /\bgo(?:es|ing)? on\b|\bwent on\b/i, instead: '"continues"' },
  { phrase: /\bgo(?:es|ing)? along\b/i, instead: '"is sent with", "is forwarded"' },
  {
    phrase: /\bworks? on(?=[.,;:)]|$| (?:while|until|without|for|as)\b)/i,
    instead: '"continues to work", "stays valid"',
  },
  { phrase: /\btr(?:y|ies|ying) on\b/i, instead: '"retries"' },
  { phrase: /\b(?:is|are|was|were) tried again\b/i, instead: '"is retried"' },
  { phrase: /\ball the same\b/i, instead: '"anyway", or leave it out' },
  { phrase: /\bever more (?:seldom|rarely)\b/i, instead: '"less and less often"' },
  { phrase: /\blately\b/i, instead: '"recently"' },
  { phrase: /\bat the speed of now\b|\bprices of now\b/i, instead: '"at the current rate", "current prices"' },
  { phrase: /\b(?:is|are|be|been|was|were) (?:taken for|held to blame)\b/i, instead: '"is treated as"' },
  { phrase: /\btak(?:es|e|en|ing) (?:itself|it|them|one) for\b/i, instead: '"treats it as"' },
  { phrase: /\bfaults? of ours\b/i, instead: '"internal error"' },
  { phrase: /\bmet its end\b|\bmeets? (?:its|the) end\b/i, instead: '"fails with a connection reset"' },
  { phrase: /\bfor (?:so|as) long\b(?! as)/i, instead: 'name the time' },
  { phrase: /\bwithout a word\b/i, instead: '"silently"' },
  { phrase: /\bin good order\b/i, instead: '"cleanly"' },
  { phrase: /\bof no use\b/i, instead: '"does not help"' },
  { phrase: /\bno (?:longer )?any ?more\b|\bnot .{0,30} any more\b/i, instead: '"no longer"' },
  { phrase: /\bmust see to\b|\bsees? to it\b|\bsaw to it\b/i, instead: '"must act", "intervenes"' },
  { phrase: /\bin hand\b/i, instead: '"in progress"' },
  { phrase: /\bbec[ao]mes? of\b/i, instead: 'name the result' },
  { phrase: /\b(?:is|are|be|was|were) told\b/i, instead: '"gets", "learns"' },
  { phrase: /\bby way of\b/i, instead: '"through"' },
  { phrase: /\bvouch(?:es)? for\b/i, instead: '"authenticates", "trusts"' },
  { phrase: /\b(?:stands?|stood) still\b/i, instead: '"hangs", "is suspended"' },
  { phrase: /\bfrom when on\b|\bsuch as it\b/i, instead: 'a whole clause' },
];
