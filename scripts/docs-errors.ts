/**
 * Writes docs/reference/errors.md from the table of errors; with `--check` only compares.
 *
 * Messages are functions of the values they show. They are called with stand-ins that print their
 * own name, so that the page shows each message with its longest form and lists its values without
 * a second copy.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { inspect } from 'node:util'
import { errorTable } from '../packages/core/src/errors.ts'

const root = path.dirname(import.meta.dirname)
const pageFile = path.join(root, 'docs/reference/errors.md')
const tableFile = path.join(root, 'packages/core/src/errors.ts')

interface Entry {
  readonly message: (details: unknown) => string
  readonly help: string
  readonly retryable: boolean
}

/** The value that was last used as a number: results computed from it print as NaN. */
let lastNumber = ''

/** Prints as ‹name›, whatever the message does to a string, a number or a list. */
function standIn(name: string): unknown {
  const text = `‹${name}›`
  const target = Object.assign(() => text, { [inspect.custom]: () => text })
  return new Proxy(target, {
    get: (_target, key) => {
      if (key === 'length') return standIn(name)
      if (key !== Symbol.toPrimitive) return () => standIn(name)
      return (hint: string) => {
        if (hint === 'number') lastNumber = text
        return text
      }
    },
  })
}

function sample(message: Entry['message']): { text: string; values: string[] } {
  const values = new Set<string>()
  const details = new Proxy(
    {},
    {
      get: (_target, key) => {
        values.add(String(key))
        return standIn(String(key))
      },
    },
  )
  return { text: message(details).replaceAll('NaN', lastNumber), values: [...values] }
}

/** The heading above each code: the comment line that opens its part of the table. */
function sections(): Map<string, string> {
  const found = new Map<string, string>()
  let title = ''
  let afterBreak = false
  for (const line of readFileSync(tableFile, 'utf8').split('\n')) {
    const comment = /^ {2}\/\/ ([^.:]+)/.exec(line)
    if (comment && afterBreak) title = comment[1]!
    const code = /^ {2}(HDL_\w+):/.exec(line)
    if (code) found.set(code[1]!, title)
    afterBreak = line === '' || line.startsWith('export const errorTable')
  }
  return found
}

function page(): string {
  const lines = [
    '# Errors',
    '',
    'Every error Heddle makes is a `HeddleError` with a stable `code`: match on that, not on the text.',
    '`message` describes the problem with the actual values, `help` the repair, `retryable` whether the same',
    'call can succeed later, `details` holds the values. ‹…› below stands for a value.',
    '',
    '```ts',
    "import { isError } from '@heddle/core'",
    '',
    'try {',
    '  await run(graph)',
    '} catch (error) {',
    "  if (isError(error, 'HDL_CYCLE')) console.error(error.details.path)",
    '  else throw error',
    '}',
    '```',
    '',
    'This page is written by `npm run format` from `packages/core/src/errors.ts`. A code is never',
    'renamed, and never used for something else.',
  ]
  const titles = sections()
  let current: string | undefined
  for (const [code, entry] of Object.entries(errorTable as unknown as Record<string, Entry>)) {
    const title = titles.get(code)
    if (title !== current) lines.push('', `## ${title}`)
    current = title
    const { text, values } = sample(entry.message)
    lines.push('', `### ${code}`, '', `> ${text}`, '', entry.help, '')
    const details = values.map((name) => `\`${name}\``).join(', ') || 'none'
    lines.push(`Retryable: ${entry.retryable ? 'yes' : 'no'}. Details: ${details}.`)
  }
  return `${lines.join('\n')}\n`
}

if (process.argv.includes('--check')) {
  if (readFileSync(pageFile, 'utf8') !== page()) {
    console.error('docs/reference/errors.md is not what errors.ts says: run `npm run format`.')
    process.exitCode = 1
  }
} else {
  writeFileSync(pageFile, page())
}
