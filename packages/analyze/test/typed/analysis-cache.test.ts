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

function told({ findings, diagnostics, program }: ProgramAnalysis): unknown {
  const calls = program.units.flatMap((unit) => unit.calls)
  const targets = calls.map((call) => call.targets.map((target) => target.name))
  return { findings, diagnostics, targets }
}
