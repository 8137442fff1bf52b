import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyze } from '../../src/analyze.ts'
import { rulePages } from '../../src/explain/pages.ts'

const root = path.resolve('/page')

/** Fingerprints of everything that is found, by a file of any name. */
async function fingerprints(code: string, name: string): Promise<string[]> {
  const file = path.join(root, name)
  const overlays = new Map([[file, code]])
  const { findings } = await analyze({ root, files: [file], types: 'none', overlays })
  return findings.map(({ fingerprint }) => fingerprint).toSorted()
}

const races = rulePages.filter(({ class: kind }) => kind !== 'suppression')

test('R1: lines, comments, indentation and file names change no fingerprint, whatever the rule', async () => {
  const noise = fc.constantFrom('', '// a note', '/* another\n   note */', 'const unrelated = 1')
  const page = fc.constantFrom(...races)
  const indent = fc.constantFrom('', '  ', '\t')
  const name = fc.constantFrom('example.ts', 'moved/elsewhere.ts')
  await fc.assert(
    fc.asyncProperty(page, fc.array(noise, { maxLength: 4 }), indent, name, async (...drawn) => {
      const [{ id, race }, lines, space, file] = drawn
      const edited = [...lines, race].join('\n').replaceAll('\n', `\n${space}`)
      const before = await fingerprints(race, 'example.ts')
      assert.ok(before.length > 0, id)
      assert.deepEqual(await fingerprints(edited, file), before, id)
    }),
    { numRuns: 60 },
  )
})
