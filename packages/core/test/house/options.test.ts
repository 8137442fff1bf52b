import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, HeddleError, Scheduler, isError, job, run } from '@heddle/core'
import { exportsOf, read, tiers, type Tier } from './tree.ts'

const load: Record<Tier, () => Promise<object>> = {
  index: () => import('@heddle/core'),
  lowlevel: () => import('@heddle/core/lowlevel'),
  testing: () => import('@heddle/core/testing'),
}

/** No part has an option like this. */
const misspelt = { notAnOption: true }

/** Classes without options. */
const plain = new Set([
  'HeddleError',
  'Graph',
  'Histogram',
  'CleanupStack',
  'Cache',
  'RestoreRegistry',
])

/** Functions with options: the arguments that come before them. */
const before: Readonly<Record<string, readonly unknown[]>> = {
  job: [],
  run: [new Graph()],
  startRun: [new Graph()],
  openScope: [],
  withScope: [() => undefined],
  runCommand: ['true', []],
  listenKeys: [{}, () => undefined],
  openCache: [],
  memoryTier: [],
  diskTier: [],
  writeAtomic: ['/nowhere/file', ''],
  holdLock: ['/nowhere/lock'],
  recover: ['/nowhere'],
  openJournal: ['memory'],
  replayRun: [{}],
  expectLoopFree: [50, () => undefined],
}

async function values(): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>()
  for (const tier of tiers) {
    for (const [name, value] of Object.entries(await load[tier]())) found.set(name, value)
  }
  return found
}

function isClass(value: unknown): value is new (options: unknown) => unknown {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}

test('every class refuses an option that it does not have, and what is not an object', async () => {
  for (const [name, value] of await values()) {
    if (!isClass(value) || plain.has(name)) continue
    assert.throws(() => new value(misspelt), { code: 'HDL_UNKNOWN_OPTION' }, name)
    for (const wrong of [null, 5, 'text', []]) {
      assert.throws(() => new value(wrong), { code: 'HDL_BAD_OPTION' }, `${name} ${String(wrong)}`)
    }
  }
})

test('every function with options refuses one that it does not have', async () => {
  for (const [name, value] of await values()) {
    const given = before[name]
    if (given === undefined) continue
    const call = value as (...args: unknown[]) => unknown
    await assert.rejects(
      async () => await call(...given, misspelt),
      { code: 'HDL_UNKNOWN_OPTION' },
      name,
    )
  }
})

test('the table above has every public function with options', () => {
  const missing = tiers.flatMap((tier) =>
    exportsOf(tier)
      .filter(({ isType }) => !isType)
      .filter(({ name, from }) => {
        const declared = new RegExp(`export (async )?function ${name}\\b[^{]*?\\boptions: \\w+`)
        return declared.test(read(from)) && before[name] === undefined
      })
      .map(({ name }) => name),
  )
  assert.deepEqual(missing, [])
})

test('a misspelt option of a node or a job is refused with a suggestion', () => {
  const work = job({ name: 'work' }, () => 1)
  const mistakes: [() => unknown, string][] = [
    [() => job({ name: 'work', retrys: 1 } as never, () => 1), 'retries'],
    [() => new Graph().add('a', work, { timout: 5 } as never), 'timeout'],
    [() => new Scheduler().add('a', { prioritty: 5 } as never), 'priority'],
  ]
  for (const [call, suggestion] of mistakes) {
    assert.throws(call, (error: unknown) => {
      assert.ok(isError(error, 'HDL_UNKNOWN_OPTION'), String(error))
      assert.equal(error.details.suggestion, suggestion)
      return true
    })
  }
})

test('arguments of the wrong kind are an error from the table, not a TypeError', async () => {
  const work = job({ name: 'work' }, () => 1)
  const graph = (): Graph => new Graph()
  const scheduler = (): Scheduler => new Scheduler()
  const mistakes: (() => unknown)[] = [
    () => job(undefined as never, () => 1),
    () => job('work' as never, () => 1),
    () => job({ name: 'work' }, 'not a function' as never),
    () => job({ name: 'work', place: 'cloud' as never }, () => 1),
    () => graph().add(5 as never, work),
    () => graph().add('a', undefined as never),
    () => graph().add('a', (() => 1) as never),
    () => graph().add('a', work, 5 as never),
    () => graph().add('a', work, null as never),
    () => graph().add('a', work, { after: 'b' as never }),
    () => graph().add('a', work, { after: [undefined as never] }),
    () => graph().add('a', work, { after: [5 as never] }),
    () => scheduler().add(undefined as never),
    () => scheduler().add('a', null as never),
    () => scheduler().add('a', { after: 'b' as never }),
    () => scheduler().add('a', { after: [5 as never] }),
    () => new Scheduler({ unknown: 'maybe' as never }),
    () => scheduler().run('not a function' as never),
    () => run(undefined as never),
    () => run({} as never),
    () => run(graph(), 5 as never),
  ]
  for (const call of mistakes) {
    await assert.rejects(
      async () => await call(),
      (error: unknown) => {
        assert.ok(error instanceof HeddleError, `${call.toString()} gave ${String(error)}`)
        return true
      },
    )
  }
})
