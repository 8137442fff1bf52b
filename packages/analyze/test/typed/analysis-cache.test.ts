import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { analyze } from '../../src/analyze.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { AnalysisCache } from '../../src/typed/analysis-cache.ts'
import { tempFolder, writeFiles } from '../support/temp-folder.ts'
import { told, toldWithProgram } from '../support/told.ts'

const catalogue = await loadCatalogue()

const client = [
  "import type { Store } from './store.ts'",
  'export class Client {',
  '  #session: object | undefined',
  '  async connect(store: Store): Promise<object> {',
  '    if (this.#session === undefined) this.#session = await store.open()',
  '    return this.#session',
  '  }',
  '}',
].join('\n')

const store = [
  'export class Store {',
  '  opened = 0',
  '  async open(): Promise<object> {',
  '    this.opened = this.opened + 1',
  '    return {}',
  '  }',
  '}',
].join('\n')

/** Every state is one save after the one before it. */
const saves: readonly Readonly<Record<string, string>>[] = [
  { 'client.ts': client, 'store.ts': store },
  // Inside a function.
  {
    'store.ts': store.replace(
      'this.opened = this.opened + 1',
      'const now = this.opened\n    await null\n    this.opened = now + 1',
    ),
  },
  // What others see.
  { 'store.ts': store.replace('async open(): Promise<object>', 'open(): object') },
  // The race is repaired, and comes back.
  { 'client.ts': client.replace('await store.open()', 'store.open()') },
  { 'client.ts': client, 'store.ts': store },
  // A file appears.
  { 'other.ts': "import { Client } from './client.ts'\nexport const shared = new Client()" },
]

test('a warm run has the findings of a cold run, after every save', async (t) => {
  const root = tempFolder(t, { 'tsconfig.json': '{}' })
  const cache = new AnalysisCache()
  t.after(() => cache.close())
  const files = new Set<string>()
  let most = 0
  for (const save of saves) {
    writeFiles(root, save)
    for (const name of Object.keys(save)) files.add(path.join(root, name))
    const options = { root, files: [...files], types: 'auto', keepsProgram: true } as const
    const warm = await analyze({ ...options, cache })
    const cold = await analyze(options)
    assert.deepEqual(toldWithProgram(warm, catalogue), toldWithProgram(cold, catalogue))
    assert.equal(warm.stats.types, 'typescript-7')
    // Files handed out with a program are not there for the next run; files that this one lowers are.
    assert.deepEqual(told(await analyze({ ...options, keepsProgram: false, cache })), told(cold))
    most = Math.max(most, warm.findings.length)
  }
  assert.ok(most > 0, 'there is something to find')
})

test('a compiler that was lost is reported, and the next run has a new one', async (t) => {
  const text = 'export const first = (list: string[]) => list.at(0)'
  const root = tempFolder(t, { 'tsconfig.json': '{}', 'a.ts': text })
  const files = [path.join(root, 'a.ts')]
  const cache = new AnalysisCache()
  t.after(() => cache.close())
  const options = { root, files, types: 'auto', cache } as const
  await analyze(options)
  const { compilerPid } = cache.typesFor({ root, files })
  assert.ok(compilerPid !== undefined)
  process.kill(compilerPid, 'SIGKILL')
  writeFiles(root, { 'a.ts': `${text}\n` })
  const lost = await analyze(options)
  assert.deepEqual(
    lost.diagnostics.map(({ kind, isIncomplete }) => ({ kind, isIncomplete })),
    [{ kind: 'types-lost', isIncomplete: true }],
  )
  assert.equal(lost.stats.types, 'none')
  const next = await analyze(options)
  assert.deepEqual(next.diagnostics, [])
  assert.equal(next.stats.types, 'typescript-7')
})

/** Code that people wrote, and the file that is edited. */
const real: readonly { readonly folder: string; readonly edited: string }[] = [
  { folder: 'examples/races', edited: 'ticket-counter/race.ts' },
  { folder: 'packages/core/src', edited: 'kernel/waiters.ts' },
]

for (const { folder, edited } of real) {
  test(`a warm run of ${folder} is a cold run, after an edit and without the file`, async () => {
    const root = path.resolve(import.meta.dirname, '../../../..', folder)
    const files = globSync('**/*.ts', { cwd: root, exclude: ['node_modules/**', '**/dist/**'] })
    const paths = files.map((name) => path.join(root, name))
    const texts = new Map(paths.map((file) => [file, readFileSync(file, 'utf8')]))
    const options = { root, types: 'none', overlays: texts } as const
    const cache = new AnalysisCache()
    await analyze({ ...options, files: paths, cache })
    const file = path.join(root, edited)
    texts.set(file, `${texts.get(file)!}\nexport const more = 1\n`)
    const after = { ...options, files: paths }
    assert.deepEqual(told(await analyze({ ...after, cache })), told(await analyze(after)))
    const others = paths.filter((one) => one !== file)
    const without = { ...options, files: others, keepsProgram: true } as const
    const warm = await analyze({ ...without, cache })
    const cold = await analyze(without)
    assert.deepEqual(toldWithProgram(warm, catalogue), toldWithProgram(cold, catalogue))
  })
}

/** Two files of which one is called by the other, without a disk. */
const called = {
  root: path.resolve('/program'),
  files: ['client.ts', 'store.ts'].map((name) => path.resolve('/program', name)),
  types: 'none',
  overlays: new Map([
    [path.resolve('/program/client.ts'), client],
    [path.resolve('/program/store.ts'), store],
  ]),
} as const

test('runs that overlap do not meet', async () => {
  const cache = new AnalysisCache()
  const cold = await analyze({ ...called, keepsProgram: true })
  await analyze({ ...called, cache })
  const both = await Promise.all([
    analyze({ ...called, cache, keepsProgram: true }),
    analyze({ ...called, cache, keepsProgram: true }),
  ])
  for (const one of both)
    assert.deepEqual(toldWithProgram(one, catalogue), toldWithProgram(cold, catalogue))
})

test('a program does not change after it was handed out', async () => {
  const cache = new AnalysisCache()
  await analyze({ ...called, cache })
  const kept = await analyze({ ...called, cache, keepsProgram: true })
  const before = toldWithProgram(kept, catalogue)
  await analyze({ ...called, cache })
  await analyze({ ...called, files: called.files.slice(1), cache })
  assert.deepEqual(toldWithProgram(kept, catalogue), before)
})

test('another root is another program', async () => {
  const cache = new AnalysisCache()
  await analyze({ ...called, cache })
  const elsewhere = { ...called, root: path.resolve('/') }
  const warm = await analyze({ ...elsewhere, cache })
  assert.deepEqual(told(warm), told(await analyze(elsewhere)))
  assert.equal(warm.findings[0]?.file, 'program/client.ts')
})
