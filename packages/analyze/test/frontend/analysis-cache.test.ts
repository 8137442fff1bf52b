import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { AnalysisCache } from '../../src/frontend/analysis-cache.ts'
import { parseSource } from '../../src/frontend/parse.ts'
import { findCompilers } from '../../src/frontend/types/find-compiler.ts'
import { tempFolder, writeFiles } from '../support/temp-folder.ts'

const compilers = findCompilers(path.dirname(fileURLToPath(import.meta.url)))

test('one compiler is kept as long as the files are the same, and knows their texts', (t) => {
  const plain = 'export function a(): number { return 1 }'
  const texts = { 'a.ts': plain, 'b.ts': "import { a } from './a.js'\na()" }
  const root = tempFolder(t, { ...texts, 'tsconfig.json': '{}' })
  const cache = new AnalysisCache()
  t.after(() => cache.close())
  let starts = 0
  const counted = compilers.map((one) => ({ ...one, load: () => (starts++, one.load()) }))
  const returnsThenable = (current: Readonly<Record<string, string>>): boolean | undefined => {
    const parsed = Object.entries(current).map(([name, text]) =>
      parseSource(path.join(root, name), text),
    )
    const files = parsed.map(({ file }) => file)
    const onProblem = assert.fail
    const types = cache.typesOf(parsed, { root, files, onProblem, compilers: counted })
    return types.factsAt(path.join(root, 'b.ts'), [texts['b.ts'].indexOf('a()')])[0]
      ?.returnsThenable
  }
  assert.equal(returnsThenable(texts), false)
  const changed = { ...texts, 'a.ts': plain.replace('number', 'Promise<number>') }
  writeFiles(root, changed)
  assert.equal(returnsThenable(changed), true)
  assert.equal(starts, 1)
  const more = { ...changed, 'c.ts': '' }
  writeFiles(root, more)
  assert.equal(returnsThenable(more), true)
  assert.equal(starts, 2)
})
