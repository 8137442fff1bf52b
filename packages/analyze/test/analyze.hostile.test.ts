/** Unusual input: a clear message, and nothing lost from the rest. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Diagnostic } from '../src/analysis.ts'
import { tempFolder, type Files } from './support/temp-folder.ts'

const runner = fileURLToPath(new URL('fixtures/analyze-folder.ts', import.meta.url))

interface Outcome {
  readonly files: readonly string[]
  readonly functions: number
  readonly findings: number
  readonly diagnostics: readonly Diagnostic[]
  readonly types: string
}

/** Analyses a folder in a process of its own, with half of the memory that is promised. */
function analysed(t: TestContext, files: Files, types: 'auto' | 'none' = 'none'): Outcome {
  const root = tempFolder(t, files)
  // A folder with the name of a file is not a file.
  mkdirSync(path.join(root, 'folder.ts'))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--max-old-space-size=512', '--conditions=heddle-source', runner, root, types],
    { encoding: 'utf8', timeout: 570_000 },
  )
  assert.equal(status, 0, stderr.slice(-2_000))
  return JSON.parse(stdout) as Outcome
}

const rest = {
  'client.ts': [
    'export class Client {',
    '  #session: object | undefined',
    '  async connect(open: () => Promise<object>): Promise<object> {',
    '    if (this.#session === undefined) this.#session = await open()',
    '    return this.#session',
    '  }',
    '}',
  ].join('\n'),
}

test('files that cannot be read, or should not be, cost one message each', (t) => {
  const { files, findings, diagnostics } = analysed(t, {
    ...rest,
    'bundle.js': 'function a(b){return b+1};'.repeat(400_000),
    'data.ts': `export const data = [\n${'  1,\n'.repeat(1_800_000)}]`,
    'app.min.js': 'function a(b){return b+1};'.repeat(20_000),
    'deep.ts': '[\n'.repeat(100_000),
    'empty.ts': '',
    'broken.ts': 'export const a = {',
    'latin1.ts': Buffer.from('export const a = "é"', 'latin1'),
    'video.ts': Uint8Array.of(0x47, 0, 0, 0),
  })
  assert.ok(findings > 0, 'the race in the rest is found')
  assert.deepEqual(files, ['broken.ts', 'client.ts', 'deep.ts', 'empty.ts', 'latin1.ts'])
  assert.deepEqual(
    diagnostics.map(({ kind, file, isIncomplete }) => `${file}: ${kind}, ${isIncomplete}`).sort(),
    [
      'app.min.js: unreadable, false',
      'broken.ts: parse-error, true',
      'bundle.js: unreadable, false',
      'data.ts: too-large, true',
      'deep.ts: parse-error, true',
      'latin1.ts: unreadable, false',
      'video.ts: unreadable, true',
    ],
  )
})

test('a function of 20,000 lines, and 20,000 functions that call each other, end', (t) => {
  const lines = Array.from(
    { length: 20_000 },
    (_, index) =>
      [
        `    this.a = await f${index}(this.a)`,
        `    if (this.map.has("k${index}")) this.a++`,
        `    this.map.set("k${index}", await g(this.a))`,
      ][index % 3]!,
  )
  const { findings, functions, diagnostics } = analysed(t, {
    ...rest,
    'long.ts': `export class Long { a = 0\n  map = new Map()\n  async run() {\n${lines.join('\n')}\n  }\n}`,
    'many.ts': Array.from(
      { length: 20_000 },
      (_, index) =>
        `export async function f${index}(x) { await f${(index + 1) % 20_000}(x); x.y = 1 }`,
    ).join('\n'),
  })
  assert.ok(functions > 20_000)
  assert.ok(findings > 0)
  assert.deepEqual(diagnostics, [])
})

test('thousands of listeners, stored arguments and registries in one function end', (t) => {
  const many = (line: (index: number) => string): string =>
    Array.from({ length: 2_000 }, (_, index) => line(index)).join('\n')
  const { findings, diagnostics } = analysed(t, {
    ...rest,
    'listeners.ts': `export function listen(socket) {\n${many(
      (index) => `  socket.on('${index % 2 ? 'error' : 'close'}', () => { n${index}.count++ })`,
    )}\n}\n${many((index) => `let n${index} = { count: 0 }`)}`,
    'stored.ts': `let current\nexport const user = () => current\nexport async function runAs(name, work) {\n${many(
      (index) => (index % 2 ? '  current = name' : `  if (name.x${index}) work(current)`),
    )}\n  await work()\n}`,
    'registries.ts': `export class All {\n${many((index) => `  r${index} = []`)}\n  add(one) {\n${many(
      (index) => `    this.r${index}.push(one)`,
    )}\n  }\n  async close() {\n${many(
      (index) => `    await Promise.all([...this.r${index}])`,
    )}\n    this.socket.close()\n  }\n}`,
  })
  assert.ok(findings > 0)
  assert.deepEqual(
    diagnostics.filter(({ kind }) => kind !== 'function-too-complex'),
    [],
  )
})

test('long chains, tables and files with a source map in them end', (t) => {
  const { findings, diagnostics } = analysed(t, {
    ...rest,
    'chain.ts': `export const c = (p) => p${'\n  .then((v) => v)'.repeat(500)}`,
    'ifs.ts': `export async function f(x) {\n${'  if (x.a) { x.b = await x.c() } else { x.d = 1 }\n'.repeat(3_000)}}`,
    'table.ts': `export const t = {\n${Array.from({ length: 50_000 }, (_, i) => `  k${i}: ${i},`).join('\n')}\n}`,
    'text.ts': `export const t = ${Array.from({ length: 2_000 }, (_, i) => `'line ${i}'`).join(' +\n  ')}`,
    'compiled.js': `${'A.prototype.b = async function () {}\n'.repeat(400)}//# sourceMappingURL=data:application/json;base64,${'QUFB'.repeat(10_000)}`,
  })
  assert.ok(findings > 0)
  assert.deepEqual(
    diagnostics.filter(({ kind }) => kind !== 'function-too-complex'),
    [],
  )
})

test('modules that export each other in circles are linked as far as they go', (t) => {
  const { findings, functions, diagnostics } = analysed(t, {
    ...rest,
    'a.ts': "export * from './b.ts'\nexport { x } from './c.ts'\nexport * as self from './a.ts'",
    'b.ts': "export * from './c.ts'\nexport * from './a.ts'",
    'c.ts':
      "export * from './a.ts'\nexport { y as x } from './b.ts'\nexport { x as y } from './a.ts'",
    'd.ts': "import { x, client } from './a.ts'\nexport async function d() { await x(); client() }",
  })
  assert.ok(findings > 0 && functions > 0)
  assert.deepEqual(diagnostics, [])
})

test('with types, and a tsconfig that is missing or broken, the rest is analysed', (t) => {
  for (const tsconfig of [{}, { 'tsconfig.json': '{ "extends": "./nowhere", ' }]) {
    const { findings, diagnostics } = analysed(t, { ...rest, ...tsconfig }, 'auto')
    assert.ok(findings > 0)
    assert.ok(diagnostics.every(({ kind }) => kind === 'types-lost'))
  }
})
