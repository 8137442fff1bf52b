/** The pages of all rules as one document: docs/reference/rules.md. */
import { classWords, stepsOf } from '../report/class-words.ts'
import type { RulePage } from './page.ts'

export function rulesDocument(pages: readonly RulePage[]): string {
  const lines = [
    '# Rules',
    '',
    'What `heddle analyze` reports. `heddle analyze --explain H101` prints the same in the terminal.',
    'The analyzer finds each example in the text below, and is silent about what follows it: a test sees',
    'to that. The level is the highest one; a single finding has a lower one where less speaks for it.',
    '',
    'This page is written by `npm run format` from `packages/analyze/src/rules`. A name is never',
    'used for another rule.',
    '',
    '| rule | name | level | |',
    '|---|---|---|---|',
    ...pages.map(
      ({ id, name, level, summary }) =>
        `| [${id}](#${anchor(id, name)}) | ${name} | ${level} | ${summary} |`,
    ),
  ]
  for (const [kind, own] of Map.groupBy(pages, (page) => page.class)) {
    const { title, definition } = classWords[kind]
    lines.push('', `## ${title}`, '', `${definition[0]!.toUpperCase()}${definition.slice(1)}.`)
    for (const page of own) lines.push('', ...pageSection(page))
  }
  return `${lines.join('\n')}\n`
}

function anchor(id: string, name: string): string {
  return `${id.toLowerCase()}-${name}`
}

/** One rule, with its heading. */
export function pageSection(page: RulePage): string[] {
  const { id, name, what, why, race, steps, window, fixed, fixes } = page
  const lines = [`### ${id} ${name}`, '', ...what.split('\n'), '', ...why.split('\n'), '']
  lines.push('```ts', ...race.split('\n'), '```', '')
  if (steps.length > 0) {
    lines.push(
      '```text',
      ...steps.map(([task, text], i) => `[Task ${task}] ${i + 1}. ${text}`),
      '```',
    )
    lines.push('', ...(window === undefined ? [] : [`Race window: ${stepsOf(window)}.`, '']))
  }
  lines.push('Without it:', '', '```ts', ...fixed.split('\n'), '```', '', 'Ways out:', '')
  return [...lines, ...fixes.map((fix) => `- ${fix}`)]
}
