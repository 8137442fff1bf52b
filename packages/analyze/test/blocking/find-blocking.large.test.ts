import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBlocking } from '../../src/blocking/find-blocking.ts'
import { pathTo } from '../../src/blocking/syntax.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { programOf } from './program.ts'

test('a file that is one long list of functions is searched call by call', async () => {
  const count = 1_000
  const functions = Array.from(
    { length: count },
    (_, i) => `export async function f${i}(name) { return fs.readFileSync(name) }`,
  )
  const program = programOf({ 'a.js': `import fs from 'fs';${functions.join(';')}` })
  const found = findBlocking(program, await loadCatalogue())
  assert.equal(found.length, count)
  assert.equal(found.at(-1)?.function, `f${count - 1}`)
})

test('a long list with holes is searched', () => {
  const holes = ','.repeat(100)
  const text = `const list = [${holes} a, b]`
  const { files } = programOf({ 'a.js': text })
  const start = text.indexOf('b]')
  const path = pathTo(files[0]!.parsed.program, { start, end: start + 1 })
  assert.equal(path.at(-1)?.type, 'Identifier')
})
