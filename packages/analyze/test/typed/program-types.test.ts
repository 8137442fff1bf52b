import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'
import { ProgramTypes } from '../../src/typed/program-types.ts'
import { tempFolder, writeFiles } from '../support/temp-folder.ts'

test('answers follow changes, in the file itself and in its imports', async (t) => {
  const pool = 'export class Pool { drain(): void {} }'
  const texts = { 'a.ts': pool, 'b.ts': "import { Pool } from './a.js'\nnew Pool().drain()" }
  const root = tempFolder(t, { ...texts, 'tsconfig.json': '{}' })
  const files = Object.keys(texts).map((name) => path.join(root, name))
  const types = new ProgramTypes({ root, files })
  t.after(() => types.close())
  const b = path.join(root, 'b.ts')
  const container = async (
    current: Readonly<Record<string, string>>,
  ): Promise<string | undefined> => {
    writeFiles(root, current)
    types.read(
      Object.entries(current).map(([name, text]) => parseSource(path.join(root, name), text)),
    )
    const asked = new Map([[b, [current['b.ts']!.indexOf('drain')]]])
    const symbols = await types.symbolsOf(asked)
    return symbols.get(b)?.[0]?.container
  }
  assert.equal(await container(texts), 'Pool')
  assert.equal(types.source, 'typescript-7')
  const split = {
    ...texts,
    'a.ts': 'class Base { drain(): void {} }\nexport class Pool extends Base {}',
  }
  assert.equal(await container(split), 'Base')
  const moved = { ...split, 'b.ts': `// moved\n${texts['b.ts']}` }
  assert.equal(await container(moved), 'Base')
  const body = { ...moved, 'a.ts': split['a.ts'].replace('{}', '{ return }') }
  assert.equal(await container(body), 'Base')
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
