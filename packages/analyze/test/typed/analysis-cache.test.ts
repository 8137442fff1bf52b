import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { analyze } from '../../src/analyze.ts'
import type { ProgramAnalysis } from '../../src/analysis.ts'
import { AnalysisCache } from '../../src/typed/analysis-cache.ts'
import { tempFolder, writeFiles } from '../support/temp-folder.ts'

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

test('a warm run finds what a cold one finds, after every save', async (t) => {
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
    assert.deepEqual(told(warm), told(cold))
    assert.equal(warm.stats.types, 'typescript-7')
    most = Math.max(most, warm.findings.length)
  }
  assert.ok(most > 0, 'there is something to find')
})

test('a compiler that was lost is told, and the next run has a new one', async (t) => {
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

function told({ findings, diagnostics, program }: ProgramAnalysis): unknown {
  const calls = program.units.flatMap((unit) => unit.calls)
  const targets = calls.map((call) => call.targets.map((target) => target.name))
  return { findings, diagnostics, targets }
}
