import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModuleFinder } from '../../src/blocking/modules.ts'
import { programOf } from './program.ts'

const { files } = programOf({
  'index.js': `const a = require('./lib/a')\nmodule.exports = { a }`,
  'lib/a.js': `require('./b.js')`,
  'lib/b.js': '',
  'src/index.ts': `export * from './c.js'\nimport { d } from './d/index.ts'\nexport { d }\nimport type { E } from './e.ts'`,
  'src/c.ts': '',
  'src/d/index.ts': 'export const d = 1',
  'src/e.ts': 'export interface E {}',
})
const finder = new ModuleFinder(files)
const at = (path: string) => files.find((file) => file.path === path)!
const paths = (found: Iterable<{ path: string }>): string[] =>
  Array.from(found, ({ path }) => path).toSorted()

test('files are found with and without their endings', () => {
  assert.equal(finder.resolve(at('index.js'), './lib/a')?.path, 'lib/a.js')
  assert.equal(finder.resolve(at('src/index.ts'), './c.js')?.path, 'src/c.ts')
  assert.equal(finder.resolve(at('src/index.ts'), './d')?.path, 'src/d/index.ts')
  assert.equal(finder.resolve(at('src/index.ts'), 'lodash'), undefined)
})

test('imports are resolved without types', () => {
  assert.deepEqual(paths(finder.importsOf(at('src/index.ts'))), ['src/c.ts', 'src/d/index.ts'])
  assert.deepEqual(paths(finder.importsOf(at('lib/a.js'))), ['lib/b.js'])
})

test('re-exports are resolved', () => {
  assert.deepEqual(paths(finder.passedOnBy(at('src/index.ts'))), ['src/c.ts', 'src/d/index.ts'])
  assert.deepEqual(paths(finder.passedOnBy(at('index.js'))), ['lib/a.js'])
  assert.deepEqual(paths(finder.passedOnBy(at('lib/a.js'))), [])
})
