import { source, type RulePage } from '../page.ts'

/** Every example is about the same function. */
const code = source`
  export async function add(item: string): Promise<void> {
    const price = await priceOf(item)
    total += price
  }
`

export const suppressionPages: readonly RulePage[] = [
  {
    id: 'S101',
    name: 'unused-suppression',
    class: 'suppression',
    level: 'warning',
    summary: 'A suppression suppresses nothing.',
    what: `A heddle-ignore comment names a rule that reports nothing at the line of the comment or at the
next line of code. Not reported where the answer is not known: in files that could not be read, for rules
that are switched off, and with --no-types.`,
    why: `The race is gone, or has moved. A comment that stays behind hides the next one.`,
    race: `// heddle-ignore H501 -- the total is only shown, never billed\n${code}`,
    steps: [],
    fixed: code,
    fixes: ['Remove the comment.', 'Move it to the line that the finding is reported at.'],
  },
  {
    id: 'S102',
    name: 'expired-suppression',
    class: 'suppression',
    level: 'warning',
    summary: 'A suppression was meant to end by now.',
    what: `The day after until= has begun, by UTC. The comment no longer suppresses anything.`,
    why: `The date is a promise to look at it again by that day.`,
    race: `// heddle-ignore H501 -- the total moves to the database [until=2020-01-01]\n${code}`,
    steps: [],
    fixed: code,
    fixes: ['Repair the race, and remove the comment.', 'Give it a new date, and say why.'],
  },
  {
    id: 'S103',
    name: 'unknown-rule',
    class: 'suppression',
    level: 'warning',
    summary: 'A suppression names a rule that does not exist.',
    what: `The word after heddle-ignore is not the name of a rule. The comment suppresses nothing.`,
    why: `A misspelt suppression looks like one, and suppresses nothing.`,
    race: `// heddle-ignore H999 -- the total is only shown, never billed\n${code}`,
    steps: [],
    fixed: code,
    fixes: ['Correct the name: heddle analyze --explain lists all rules.', 'Remove the comment.'],
  },
  {
    id: 'S104',
    name: 'suppression-without-reason',
    class: 'suppression',
    level: 'warning',
    summary: 'A suppression does not say why.',
    what: `There is nothing after the two dashes, or there are no dashes. The comment suppresses nothing.`,
    why: `The next reader cannot know whether the author thought about it, or only wanted silence.`,
    race: `// heddle-ignore H501\n${code}`,
    steps: [],
    fixed: code,
    fixes: [
      'Write the reason: // heddle-ignore H501 -- why it cannot go wrong.',
      'Remove the comment.',
    ],
  },
]
