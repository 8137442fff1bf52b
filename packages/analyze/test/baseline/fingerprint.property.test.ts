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
  const before = new Map<string, string[]>()
  for (const { id, race } of races) {
    const found = await fingerprints(race, 'example.ts')
    assert.ok(found.length > 0, id)
    before.set(id, found)
  }
  const noise = fc.constantFrom('', '// a note', '/* another\n   note */', 'const unrelated = 1')
  const indent = fc.constantFrom('', '  ', '\t')
  const name = fc.constantFrom('example.ts', 'moved/elsewhere.ts')
  await fc.assert(
    fc.asyncProperty(
      fc.array(noise, { maxLength: 4 }),
      indent,
      name,
      async (lines, space, file) => {
        for (const { id, race } of races) {
          const edited = [...lines, race].join('\n').replaceAll('\n', `\n${space}`)
          assert.deepEqual(await fingerprints(edited, file), before.get(id), id)
        }
      },
    ),
    { numRuns: 15 },
  )
})
