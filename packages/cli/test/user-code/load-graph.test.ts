import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { Graph, isError, type HeddleError } from '@heddle/core'
import { loadGraph } from '../../src/user-code/load-graph.ts'
import { fixture } from '../support/program.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-load-'))
after(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')

function write(name: string, source: string): string {
  const file = path.join(folder, name)
  writeFileSync(file, source)
  return file
}

/** The message of the error that loading ends with. */
async function failing(file: string, code: HeddleError['code']): Promise<string> {
  const error = await loadGraph(file, []).then(
    () => assert.fail('it was loaded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(isError(error, code), String(error))
  return error.message.replaceAll(folder + path.sep, '')
}

test('a default export that is a graph, or a function that returns one, also later', async () => {
  const { graph } = await loadGraph(fixture('staged.ts'), ['a', 'b:a'])
  assert.ok(graph instanceof Graph)
  assert.deepEqual(
    [...graph.nodes()].map(({ name }) => name),
    ['a', 'b'],
  )
  const other = `{ size: 0, nodes: () => [].values(), get: () => undefined }`
  const later = write(
    'later.ts',
    `export default async (args: string[]) => (globalThis.seen = args, ${other})`,
  )
  await loadGraph(later, ['--month', '10'])
  assert.deepEqual((globalThis as { seen?: unknown }).seen, ['--month', '10'])
  const plain = write('plain.cjs', `module.exports = ${other}`)
  assert.equal((await loadGraph(plain, [])).graph.size, 0)
  const promised = write('promised.ts', `export default Promise.resolve(${other})`)
  assert.equal((await loadGraph(promised, [])).graph.size, 0)
  const broken = write('broken.ts', `export default Promise.reject(new Error('no database'))`)
  assert.match(await failing(broken, 'HDL_LOAD_FAILED'), /could not make its graph: no database/)
})

test('the options of a module are passed on; options of the command are refused', async () => {
  const graph = `export default { size: 0, nodes: () => [].values(), get: () => undefined }`
  const own = write('own.ts', `${graph}\nexport const options = { concurrency: { thread: 2 } }`)
  assert.deepEqual((await loadGraph(own, [])).options, { concurrency: { thread: 2 } })
  const cases: [string, RegExp][] = [
    ['5', /^Option "options of \w+\.ts" is 5, expected an object: export const options = /],
    ['[1]', /expected an object: export const options = /],
    ['new Map()', /expected an object: export const options = /],
    ['Promise.resolve({ concurrency: 2 })', /expected an object, not a promise of it: .* await/],
    ['{ resume: true }', /"resume in the options of \w+\.ts" is true, expected .* type --resume/],
    ['{ journal: {} }', /"journal in the options of \w+\.ts" .* expected an address/],
  ]
  for (const [i, [options, message]] of cases.entries()) {
    const file = write(`options${i}.ts`, `${graph}\nexport const options = ${options}`)
    assert.match(await failing(file, 'HDL_BAD_OPTION'), message)
  }
})

test('a file that is missing, a folder, or no module', async () => {
  assert.equal(
    await failing(path.join(folder, 'nope.ts'), 'HDL_NO_MODULE'),
    'nope.ts does not exist.',
  )
  write('near.ts', '')
  const near = await failing(path.join(folder, 'Near.js'), 'HDL_NO_MODULE')
  assert.equal(near, 'Near.js does not exist. Did you mean "near.ts"?')
  const mistyped = await failing(path.join(folder, 'naer.ts'), 'HDL_NO_MODULE')
  assert.equal(mistyped, 'naer.ts does not exist. Did you mean "near.ts"?')
  mkdirSync(path.join(folder, 'sub'))
  assert.equal(await failing(path.join(folder, 'sub'), 'HDL_NO_MODULE'), 'sub is a folder.')
  assert.match(
    await failing(write('a.md', '#'), 'HDL_NO_MODULE'),
    /^a\.md is not a module that Node can import/,
  )
  assert.match(await failing(write('a.tsx', ''), 'HDL_NO_MODULE'), /^a\.tsx is not a module/)
})

test('an import that fails says why and where', async () => {
  const cases: [string, string, RegExp][] = [
    [
      'syntax.ts',
      'const a: number = 1\nexport default [',
      /^syntax\.ts could not be imported: .*\(syntax\.ts:2\)$/,
    ],
    [
      'enum.ts',
      'enum Color { Red }\nexport default Color',
      /enum is not supported.*\(enum\.ts:1\)$/,
    ],
    [
      'names.ts',
      "import { nope } from 'node:fs'\nexport default nope",
      /does not provide an export named 'nope' \(names\.ts:1\)$/,
    ],
    [
      'throws.ts',
      "const deep = () => {\n  throw new TypeError('boom')\n}\nexport default deep()",
      /TypeError: boom \(throws\.ts:2:9\)$/,
    ],
    [
      'package.ts',
      "import x from 'not-installed'\nexport default x",
      /Cannot find package 'not-installed' imported from package\.ts$/,
    ],
    ['string.ts', "throw 'only text'", /could not be imported: only text$/],
  ]
  for (const [name, source, message] of cases) {
    assert.match(await failing(write(name, source), 'HDL_LOAD_FAILED'), message)
  }
  const outer = write('outer.ts', "import './syntax.ts'\nexport default 1")
  assert.match(
    await failing(outer, 'HDL_LOAD_FAILED'),
    /^outer\.ts could not be imported: .*\(syntax\.ts:2\)$/,
  )
})

test('a thread job without its module is reported with the place of its definition', async () => {
  const message = await failing(fixture('no-module.ts'), 'HDL_LOAD_FAILED')
  assert.match(
    message,
    /Job "crunch" leaves the loop but has no `module`\. \(.*no-module\.ts:\d+:\d+\)$/,
  )
})

test('a function that throws, or returns something else', async () => {
  const throwing = write(
    'throwing.ts',
    "export default async () => {\n  throw new Error('no input')\n}",
  )
  assert.equal(
    await failing(throwing, 'HDL_LOAD_FAILED'),
    'throwing.ts could not make its graph: no input (throwing.ts:2:9)',
  )
  const returning = write('returning.ts', 'export default () => [1]')
  assert.equal(
    await failing(returning, 'HDL_NOT_A_GRAPH'),
    'returning.ts gives no graph: the exported function returned an array.',
  )
})

test('another default export, or none, is described', async () => {
  const cases: [string, RegExp][] = [
    ['export default 5', /its default export is a number/],
    ['export default null', /its default export is null/],
    ['export default {}', /its default export is a plain object/],
    ['export default new Map()', /its default export is an object of class Map/],
    ['export const a = 1', /it has no default export\.$/],
  ]
  for (const [i, [source, message]] of cases.entries()) {
    assert.match(await failing(write(`other-${i}.ts`, source), 'HDL_NOT_A_GRAPH'), message)
  }
  assert.match(
    await failing(fixture('no-default.ts'), 'HDL_NOT_A_GRAPH'),
    /no default export; "graph" is a graph, but not the default/,
  )
})
