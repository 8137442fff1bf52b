import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'
import { ProgramTypes } from '../../src/typed/program-types.ts'
import { tempFolder, writeFiles } from '../support/temp-folder.ts'

test('answers follow what changes, in the file itself and in what it imports', async (t) => {
  const plain = 'export function a(): number { return 1 }'
  const texts = { 'a.ts': plain, 'b.ts': "import { a } from './a.js'\na()" }
  const root = tempFolder(t, { ...texts, 'tsconfig.json': '{}' })
  const files = Object.keys(texts).map((name) => path.join(root, name))
  const types = new ProgramTypes({ root, files })
  t.after(() => types.close())
  const b = path.join(root, 'b.ts')
  const returnsThenable = async (
    current: Readonly<Record<string, string>>,
  ): Promise<boolean | undefined> => {
    writeFiles(root, current)
    const parsed = Object.entries(current).map(([name, text]) =>
      parseSource(path.join(root, name), text),
    )
    const asked = new Map([[b, [current['b.ts']!.indexOf('a()')]]])
    const facts = await types.factsOf(parsed, asked)
    return facts.get(b)?.[0]?.returnsThenable
  }
  assert.equal(await returnsThenable(texts), false)
  assert.equal(types.source, 'typescript-7')
  const asynchronous = { ...texts, 'a.ts': plain.replace('number', 'Promise<number>') }
  assert.equal(await returnsThenable(asynchronous), true)
  const moved = { ...asynchronous, 'b.ts': `// moved\n${texts['b.ts']}` }
  assert.equal(await returnsThenable(moved), true)
  const body = { ...moved, 'a.ts': asynchronous['a.ts'].replace('return 1', 'return fetch(1)') }
  assert.equal(await returnsThenable(body), true)
  assert.deepEqual(types.takeProblems(), [])
})

test('it is for the files it was started for', async (t) => {
  const root = tempFolder(t, { 'a.ts': '' })
  const file = path.join(root, 'a.ts')
  const types = new ProgramTypes({ root, files: [file] })
  t.after(() => types.close())
  assert.ok(types.isFor([file]))
  assert.ok(!types.isFor([]) && !types.isFor([file, file + 'x']))
})
