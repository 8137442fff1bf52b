import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { analyze } from '../src/analyze.ts'
import { threadsFor } from '../src/parts/run-parts.ts'
import { tempFolder } from './support/temp-folder.ts'

const race = `export class Client {
  async connect() {
    if (this.session === undefined) this.session = await open()
    return this.session
  }
}
`

/** A line that costs next to nothing to analyse. */
const remark = `// ${'-'.repeat(96)}\n`

test('a program that is worth threads is analysed in them, as it would be without', async (t) => {
  const root = tempFolder(t, {
    'a/package.json': '{ "name": "a" }',
    'b/package.json': '{ "name": "b" }',
  })
  const files = ['a', 'b'].map((name) => path.join(root, name, 'index.js'))
  const text = race + remark.repeat(185_000)
  const overlays = new Map(files.map((file) => [file, text]))
  if (availableParallelism() > 1) assert.equal(threadsFor(2 * text.length), 2)
  const options = { root, files, overlays, types: 'none' } as const
  const inThreads = await analyze(options)
  assert.deepEqual(
    inThreads.findings.map(({ rule, file }) => `${rule} ${file}`),
    ['H101 a/index.js', 'H101 b/index.js'],
  )
  const here = await analyze({ ...options, keepsProgram: true })
  assert.deepEqual(inThreads.findings, here.findings)
  assert.deepEqual(inThreads.diagnostics, here.diagnostics)
  assert.equal(inThreads.stats.lines, here.stats.lines)
  assert.deepEqual(inThreads.extentOf(inThreads.findings[0]!), [2, 5])
})
