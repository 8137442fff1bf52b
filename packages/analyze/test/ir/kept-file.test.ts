import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { runBlocking } from '../../src/blocking/run-blocking.ts'
import { parseSource } from '../../src/frontend/parse.ts'
import type { ParsedFile } from '../../src/frontend/parse.ts'
import { Resolver } from '../../src/frontend/resolve/resolve.ts'
import { makeInventory } from '../../src/inventory/make-inventory.ts'
import { KeptFile } from '../../src/ir/kept-file.ts'
import { link } from '../../src/ir/link-program.ts'
import { lowerFile } from '../../src/ir/lower.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { runRules } from '../../src/rules/index.ts'
import { Model } from '../../src/rules/program-model.ts'
import { summarise } from '../../src/summaries/summary.ts'
import { shapeOf } from '../support/shape.ts'
import { sources, textsOf } from '../support/edited-program.ts'

const catalogue = await loadCatalogue()
const root = path.resolve('/program')

/** Lowers files, does with them all that an analysis does, and gives how they are before and after. */
function usedAndRestored(files: readonly ParsedFile[]): { before: string[]; after: string[] } {
  const kept = files.map((one) => new KeptFile(lowerFile(one, one.file, new Set())))
  const shapes = (): string[] => kept.map((one) => shapeOf(one.lowered))
  const before = shapes()
  const resolver = new Resolver(files.map(({ file }) => file))
  const program = link({
    root,
    lowered: kept.map((one) => one.lowered),
    firstUnit: 0,
    resolve(from, specifier) {
      const target = resolver.resolveImport(from, specifier)
      return target.kind === 'file' ? target.file : undefined
    },
  })
  runRules(new Model(program, summarise(program.units)))
  runBlocking(program, catalogue)
  makeInventory(program, catalogue)
  assert.notEqual(shapeOf(kept[0]!.lowered), before[0], 'it has been written to')
  for (const one of kept) one.restore()
  return { before, after: shapes() }
}

test('I1: a kept file equals a newly lowered one after linking, summaries and types', () => {
  fc.assert(
    fc.property(sources, (program) => {
      const parsed = [...textsOf(program)].map(([name, text]) =>
        parseSource(path.join(root, name), text),
      )
      const { before, after } = usedAndRestored(parsed)
      assert.deepEqual(after, before)
    }),
    { numRuns: 100 },
  )
})

test('I1: the code of a whole package is read without an error', () => {
  const folder = path.resolve(import.meta.dirname, '../../../core/src')
  const parsed = globSync('**/*.ts', { cwd: folder })
    .sort()
    .map((name) => path.join(folder, name))
    .map((file) => parseSource(file, readFileSync(file, 'utf8')))
  const { before, after } = usedAndRestored(parsed)
  for (const [index, shape] of after.entries())
    assert.equal(shape === before[index], true, parsed[index]!.file)
})
