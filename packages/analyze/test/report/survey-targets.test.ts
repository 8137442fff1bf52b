import type { Survey } from '../../src/report/survey.ts'
import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { analyze } from '../../src/analyze.ts'
import type { Program } from '../../src/ir/program.ts'
import { surveySection } from '../../src/report/markdown-report.ts'
import { SourceLines } from '../../src/report/source-lines.ts'
import { surveyTargets } from '../../src/report/survey-targets.ts'

const code = `import { Mutex } from 'async-mutex'

export class Store {
  readonly #lock = new Mutex()
  readonly #save: (entries: string[]) => Promise<void>
  #entries: string[] = []

  constructor(save: (entries: string[]) => Promise<void>) {
    this.#save = save
  }

  async add(entry: string): Promise<void> {
    await this.#lock.runExclusive(async () => {
      const entries = [...this.#entries, entry]
      await this.#save(entries)
      this.#entries = entries
    })
  }

  get size(): number {
    return this.#entries.length
  }
}
`

async function programOf(text: string): Promise<Program> {
  const root = path.resolve('/survey')
  const file = path.join(root, 'store.ts')
  const overlays = new Map([[file, text]])
  return (await analyze({ root, files: [file], types: 'none', overlays, keepsProgram: true }))
    .program
}

test('a function: its shared state, the other users, the guards, and its suspensions', async () => {
  const [survey, ...others] = surveyTargets(['./store.ts#add'], await programOf(code))
  assert.deepEqual(others, [])
  assert.equal(survey!.target, 'store.ts#add')
  const entries = survey!.shared.find(({ name }) => name === 'Store.#entries')!
  assert.deepEqual(
    [entries.scope, entries.writers.map(({ span }) => span.line)],
    ['instance', [16]],
  )
  assert.match(entries.guard!, / \(for writing\)$/)
  assert.ok(entries.readers.some((access) => access.function === 'Store.size'))
  const lock = survey!.shared.find(({ name }) => name === 'Store.#lock')
  assert.equal(lock?.guard, 'never written after it was made')
  assert.ok(survey!.checkpoints.some(({ span, kind }) => kind === 'await' && span.line === 15))
})

test('lines: the functions that they touch; whole files are not surveyed', async () => {
  const program = await programOf(code)
  const [survey] = surveyTargets(['store.ts:20-21'], program)
  assert.deepEqual(survey!.checkpoints, [])
  assert.deepEqual(
    survey!.shared.map(({ name }) => name),
    ['Store.#entries'],
  )
  assert.deepEqual(surveyTargets(['store.ts', '.', '-'], program), [])
})

test('the document has the five parts, and says that nothing was found', async () => {
  const [survey] = surveyTargets(['store.ts#add'], await programOf(code))
  const text = surveySection(survey!, new SourceLines(() => code))
  assert.deepEqual(text.match(/^##+ .*$/gm), [
    '## Concurrency analysis: `store.ts#add`',
    '### Shared state',
    '### Checkpoints',
    '### Race trace',
    '### Classification',
    '### Fixes',
  ])
  assert.match(text, /L15: await this\.#save\(entries\) +← CHECKPOINT\n/)
  assert.match(text, /None was found/)
})

test('a document without findings says how many were left out because of their level', () => {
  const survey = { target: 'a.ts', file: 'a.ts', shared: [], checkpoints: [] } as unknown as Survey
  const source = new SourceLines(() => '')
  assert.match(surveySection(survey, source), /\nNo race\.\n[\s\S]*\nNone needed\.$/)
  assert.match(
    surveySection(survey, source, 2),
    /\nNo race at this level\. 2 below it are not shown/,
  )
})
