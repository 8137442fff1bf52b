import assert from 'node:assert/strict'
import { test } from 'node:test'
import { files, read } from './tree.ts'

/** `*  L4  What the report says …`: an invariant at the top of a file. */
const definition = /^ \*\s{1,2}([A-Z]{1,2}\d{1,2}) {2}\S/gm

/** `(L4)`, `L4:` or `/** L4 *\/`: a comment that refers to one. */
const quotation =
  /(?:\(|\/\*\* |\/\/ )((?:[A-Z]{1,2}\d)(?:(?:, | and | to )[A-Z]{1,2}\d)*)(?=[):]| \*\/|$)/gm

test('an invariant of releases is defined once, and every quoted one is defined', () => {
  const defined = new Map<string, string>()
  const twice: string[] = []
  const sources = files('packages/release/src/**/*.ts')
  for (const file of sources) {
    for (const [, name] of read(file).matchAll(definition)) {
      if (defined.has(name!)) twice.push(`${name} in ${file} and ${defined.get(name!)}`)
      defined.set(name!, file)
    }
  }
  assert.ok(defined.size > 40, 'the search itself finds what it looks for')
  assert.deepEqual(twice, [])
  const unknown: string[] = []
  for (const file of sources) {
    for (const [, names] of read(file).matchAll(quotation)) {
      for (const name of names!.split(/, | and | to /)) {
        if (!defined.has(name)) unknown.push(`${name} in ${file}`)
      }
    }
  }
  assert.deepEqual(unknown, [])
})

test('the numbers of the rules of a file ascend', () => {
  const wrong = files('packages/*/src/**/*.{ts,tsx}', '{bench,chaos,scripts,servers}/**/*.{ts,mjs}')
    .filter((file) => !file.includes('/fixtures/'))
    .flatMap((file) => outOfOrder(read(file)).map((name) => `${name} in ${file}`))
  assert.deepEqual(wrong, [])
})

/** Rules that come after one of a higher number, within one comment. */
function outOfOrder(source: string): string[] {
  return Array.from(source.matchAll(/\/\*\*[\s\S]*?\*\//g)).flatMap(([comment]) => {
    const last = new Map<string, number>()
    return Array.from(comment.matchAll(definition)).flatMap(([, name]) => {
      const [, letters, digits] = /^([A-Z]+)(\d+)$/.exec(name!)!
      const isBehind = Number(digits) <= (last.get(letters!) ?? 0)
      last.set(letters!, Number(digits))
      return isBehind ? [name!] : []
    })
  })
}
