import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportsOf, files, read, tiers } from './tree.ts'

interface Declaration {
  readonly where: string
  readonly doc: string
  readonly signature: string
}

/**
 * Public asynchronous functions and methods of the public classes of a file.
 *
 * Read from the text, which the formatter keeps regular: members are indented by two spaces, a
 * signature ends at the first line that ends with an opening brace, its comment stands right above.
 */
function asyncDeclarations(file: string, names: ReadonlySet<string>): Declaration[] {
  const found: Declaration[] = []
  const lines = read(file).split('\n')
  let inClass: string | undefined
  for (const [index, line] of lines.entries()) {
    const opened = /^export (?:abstract )?class (\w+)/.exec(line)
    if (opened && names.has(opened[1]!)) inClass = opened[1]
    if (line === '}') inClass = undefined
    const name =
      inClass === undefined
        ? /^export (?:async )?function (\w+)/.exec(line)?.[1]
        : /^ {2}(?:static )?(?:async )?\*?([a-zA-Z]\w*)[<(]/.exec(line)?.[1]
    if (name === undefined || name === 'constructor') continue
    if (inClass === undefined && !names.has(name)) continue
    let end = index
    while (end < lines.length - 1 && !/[{]$/.test(lines[end]!)) end++
    const signature = lines.slice(index, end + 1).join(' ')
    if (!/\basync\b/.test(signature) && !/\): (Promise|AsyncGenerator|AsyncIter)/.test(signature)) {
      continue
    }
    found.push({
      where: `${file}:${index + 1} ${inClass === undefined ? '' : `${inClass}.`}${name}()`,
      doc: commentAbove(lines, index),
      signature,
    })
  }
  return found
}

function commentAbove(lines: readonly string[], index: number): string {
  if (!lines[index - 1]?.trimEnd().endsWith('*/')) return ''
  let start = index - 1
  while (start > 0 && !lines[start]!.includes('/**')) start--
  return lines.slice(start, index).join('\n')
}

const publicNames = new Map<string, Set<string>>()
for (const { name, from } of tiers.flatMap(exportsOf)) {
  const names = publicNames.get(from)
  if (names === undefined) publicNames.set(from, new Set([name]))
  else names.add(name)
}
const declarations = [...publicNames].flatMap(([file, names]) => asyncDeclarations(file, names))

/** Options that make a call wait: WaitOptions and what extends it. */
const waiting = new Set(['WaitOptions'])
for (const file of files('packages/core/src/**/*.ts')) {
  for (const [, name] of read(file).matchAll(/interface (\w+)[^{]*extends [^{]*\bWaitOptions\b/g)) {
    waiting.add(name!)
  }
}

test('every public async function documents what cancelling it leaves behind', () => {
  const silent = declarations.filter(({ doc }) => !doc.includes('*Cancellation*:'))
  assert.deepEqual(
    silent.map(({ where }) => where),
    [],
    'add a line `*Cancellation*: …`',
  )
})

test('every public function that waits documents which caller goes first', () => {
  const silent = declarations.filter(
    ({ doc, signature }) =>
      [...waiting].some((name) => new RegExp(`\\b${name}\\b`).test(signature)) &&
      !doc.includes('*Fairness*:'),
  )
  assert.deepEqual(
    silent.map(({ where }) => where),
    [],
    'add a line `*Fairness*: …`',
  )
})

test('the search finds functions and methods', () => {
  const where = declarations.map((declaration) => declaration.where).join('\n')
  assert.match(where, / withScope\(\)/)
  assert.match(where, / Scheduler\.run\(\)/)
})
