/** A rule's page in the terminal: `heddle analyze --explain H502`. */
import { levelStyles } from '../report/text/finding.ts'
import { span, wrap, type Line, type TextOptions } from '../report/text/line.ts'
import { classWords, stepsOf } from '../report/class-words.ts'
import type { RulePage } from './page.ts'

const indent = '  '

/** Prose is easier to read in lines that are not too long. */
const widestProse = 96

export function pageLines(page: RulePage, options: TextOptions): Line[] {
  const { id, name, level, summary, what, why, race, steps, window, fixed, fixes } = page
  const room = Math.min(options.columns, widestProse) - indent.length
  const prose = (text: string): Line[] =>
    wrap(text.replaceAll('\n', ' '), room, options.measure).map((line) => [span(indent + line)])
  const title = (text: string): Line[] => [[], [span(text, 'bold')]]
  const code = (text: string): Line[] =>
    text.split('\n').map((line) => (line === '' ? [] : [span(indent + line, 'green')]))
  const dash = options.unicode ? '–' : '-'
  const lines: Line[] = [
    [span(id, [levelStyles[level], 'bold']), span(` ${name}`, 'bold')],
    [span(`${classWords[page.class].title}, ${level} at most`, 'dim')],
    [],
    ...prose(summary),
    ...title('What is reported'),
    ...prose(what),
    ...title('Why it matters'),
    ...prose(why),
    ...title('Example'),
    ...code(race),
  ]
  if (steps.length > 0) {
    lines.push(...title('How it goes wrong'))
    for (const [i, [task, text]] of steps.entries())
      lines.push([span(`${indent}[Task ${task}] ${i + 1}. ${text}`)])
    if (window !== undefined) lines.push([span(`${indent}= window: ${stepsOf(window, dash)}`)])
  }
  lines.push(...title('Without it'), ...code(fixed), ...title('Ways out'))
  for (const fix of fixes) {
    const [first, ...rest] = wrap(fix, room - 2, options.measure)
    lines.push([span(`${indent}- ${first}`)], ...rest.map((line) => [span(`${indent}  ${line}`)]))
  }
  lines.push(...title('To accept one'))
  lines.push([span(`${indent}// heddle-ignore ${id} -- why it cannot go wrong here`, 'green')])
  return lines
}

/** All rules, a line for each. */
export function pageList(pages: readonly RulePage[], options: TextOptions): Line[] {
  const width = Math.max(...pages.map(({ name }) => name.length))
  const lines: Line[] = []
  for (const [kind, own] of Map.groupBy(pages, (page) => page.class)) {
    if (lines.length > 0) lines.push([])
    lines.push([span(classWords[kind].title, 'bold')])
    for (const { id, name, level, summary } of own) {
      const start = `${indent}${id}  `
      const label = `${name.padEnd(width)}  `
      const [first, ...rest] = wrap(
        summary,
        Math.max(30, options.columns - start.length - label.length),
        options.measure,
      )
      lines.push([span(start, levelStyles[level]), span(label), span(first!)])
      for (const line of rest) lines.push([span(' '.repeat(start.length + label.length) + line)])
    }
  }
  return lines
}
