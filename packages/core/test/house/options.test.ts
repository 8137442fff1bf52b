import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Graph,
  HeddleError,
  Scheduler,
  isError,
  job,
  openScope,
  run,
  type LoopContext,
} from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { codeOf, exportsOf, read, tiers, type Tier } from './tree.ts'

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
  'LinkedList',
  'IndexedHeap',
  'CleanupStack',
  'Cache',
  'RestoreRegistry',
  'Patience',
  'PresentItems',
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
  openArtifacts: ['memory'],
  copyRuns: [{}, { address: 'memory' }],
  openJournal: ['memory'],
  openStore: ['memory'],
  replayRun: [{}],
  expectLoopFree: [50, () => undefined],
  waitFor: [Promise.resolve(), 'A wait', systemKernel.clock],
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

test('every class refuses an unknown option, and a value that is not an object', async () => {
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
      // The check itself is given the names of the options.
      .filter(({ name, isType }) => !isType && name !== 'checkOptions')
      .filter(({ name, from }) => {
        const declared = new RegExp(`export (async )?function ${name}\\b[^{]*?\\boptions: \\w+`)
        return declared.test(read(from)) && before[name] === undefined
      })
      .map(({ name }) => name),
  )
  assert.deepEqual(missing, [])
})

/** An object with options, and a call that is given it. */
interface Checked {
  readonly call: (options: never) => unknown
  /** Where its fields are declared besides its own interface: `file#Interface`. */
  readonly also?: readonly string[]
  /** Options that take any value. */
  readonly any?: readonly string[]
}

const work = job({ name: 'work' }, () => 1)
/** Rejects with the error of the job. */
async function inLoopJob(use: (context: LoopContext) => Promise<unknown>): Promise<void> {
  const graph = new Graph()
  graph.add(
    'a',
    job({ name: 'a' }, (_: void, context) => use(context)),
  )
  const { failed } = await run(graph)
  if (failed.size > 0) throw failed.get('a') as Error
}

const scheduler = (): Scheduler => new Scheduler()
const started = (): Scheduler => {
  const made = scheduler()
  made.add('a')
  return made
}
const withResource =
  (base: object) =>
  (options: object): Scheduler =>
    new Scheduler({ resources: { db: { ...base, ...options } as never } })

/** Every type of `index.ts` that is an object with options. */
const checked: Readonly<Record<string, Checked>> = {
  JobOptions: { call: (o: object) => job({ name: 'a', ...o }, () => 1) },
  NodeOptions: { call: (o) => new Graph().add('a', work, o) },
  MapOptions: {
    call: (o: object) => new Graph().map('a', work, { over: () => [], ...o }),
    also: ['graph/graph.ts#NodeOptions'],
  },
  StepOptions: { call: (o) => inLoopJob((ctx) => ctx.run(work, undefined, o)) },
  SignalOptions: { call: (o) => inLoopJob((ctx) => ctx.waitFor('a', o)) },
  SubgraphOptions: { call: (o) => new Graph().subgraph('a', () => new Graph(), o) },
  RunOptions: {
    call: (o) => run(new Graph(), o),
    also: ['scheduler/scheduler.ts#SchedulerOptions', 'run/run-journal.ts#JournalOptions'],
  },
  ThreadOptions: { call: (o) => run(new Graph(), { threads: o }) },
  ArtifactOptions: { call: (o) => run(new Graph(), { artifacts: o }) },
  SchedulerOptions: { call: (o) => new Scheduler(o) },
  AddOptions: { call: (o) => scheduler().add('a', o), any: ['value'] },
  RemoveOptions: { call: (o) => started().remove('a', o) },
  CancelOptions: { call: (o) => scheduler().cancel(o) },
  WhatIfOptions: { call: (o) => scheduler().whatIf(o) },
  Concurrency: { call: (o) => new Scheduler({ concurrency: o }) },
  ScopeOptions: {
    call: (o) => openScope(o),
    also: ['kernel/waiters.ts#WaitOptions', 'sync/sync-options.ts#SyncOptions'],
  },
  TaskOptions: { call: (o) => openScope().start(() => 1, o) },
  ShieldOptions: {
    call: (o: object) => openScope().shield(() => 1, { deadline: 1, ...o }),
    also: ['sync/scope.ts#TaskOptions'],
  },
  ScopeCancelOptions: { call: (o) => openScope().cancel('no reason', o) },
  ResourceOptions: {
    call: withResource({ permits: 1 }),
    also: ['kernel/permits.ts#PermitOptions'],
  },
  'ResourceOptions, a rate': {
    call: withResource({ limit: 1, per: 1 }),
    also: ['capacity/rate.ts#RateOptions'],
  },
  'ResourceOptions, for each key': {
    call: withResource({ each: 1 }),
    also: ['capacity/resources.ts#EachOptions'],
  },
  'WaitOptions of Scheduler.run()': {
    call: (o) => scheduler().run(() => 1, o),
    also: ['kernel/waiters.ts#WaitOptions'],
  },
  'places of RunOptions': { call: (o) => run(new Graph(), { places: o }) },
}

/** The fields of the interface with this name. */
function fieldsOf(file: string, name: string): string[] {
  const code = codeOf(file)
  const body = new RegExp(`\\binterface ${name}\\b[^{]*\\{([^}]*)\\}`).exec(code)?.[1] ?? ''
  return [...body.matchAll(/^\s*readonly (\w+)\??:/gm)].map(([, field]) => field!)
}

function isRefused(error: unknown, text: string): boolean {
  const isOurs = isError(error, 'HDL_BAD_OPTION') || isError(error, 'HDL_UNKNOWN_OPTION')
  assert.ok(isOurs, `${text}: ${String(error)}`)
  return true
}

test('every object with options that is exported is in the table above', () => {
  const missing = exportsOf('index')
    .filter(({ name, isType }) => isType && /(Options|Limits|Settings)$/.test(name))
    .map(({ name }) => name)
    .filter((name) => checked[name] === undefined)
  assert.deepEqual(missing, [])
})

test('every object with options refuses an unknown key, and a value that is not an object', async () => {
  for (const [name, { call }] of Object.entries(checked)) {
    await assert.rejects(
      async () => await call(misspelt as never),
      { code: 'HDL_UNKNOWN_OPTION' },
      name,
    )
    // These calls put the options into another object.
    if (/^(ResourceOptions|ShieldOptions|JobOptions|MapOptions)/.test(name)) continue
    // Inside of other options null counts as absent.
    const wrongs = [Symbol('wrong'), [], ...(name === 'Concurrency' ? [] : [null])]
    for (const wrong of wrongs) {
      const text = `${name} ${String(wrong)}`
      await assert.rejects(
        async () => await call(wrong as never),
        (error) => isRefused(error, text),
        text,
      )
    }
  }
})

test('every option refuses a value of a kind that it does not take', async () => {
  const sources = new Map(exportsOf('index').map(({ name, from }) => [name, from]))
  for (const [name, { call, also = [], any = [] }] of Object.entries(checked)) {
    const from = sources.get(name)
    const own =
      from === undefined
        ? []
        : fieldsOf(from, name === 'ScopeCancelOptions' ? 'CancelOptions' : name)
    const inherited = also.flatMap((each) => {
      const [file, type] = each.split('#')
      return fieldsOf(`packages/core/src/${file}`, type!)
    })
    const fields = [...own, ...inherited]
    assert.ok(fields.length > 0 || /Concurrency|places/.test(name), name)
    for (const field of fields.filter((each) => !any.includes(each))) {
      for (const wrong of [Symbol('wrong'), 5n, [Symbol('wrong')]]) {
        const text = `${name}: ${field} as ${Array.isArray(wrong) ? 'a list' : String(wrong)}`
        await assert.rejects(
          async () => await call({ [field]: wrong } as never),
          (error) => isRefused(error, text),
          text,
        )
      }
    }
  }
})

test('a wrong value inside an option is named with its path and a suggestion', async () => {
  const graph = (): Graph => new Graph()
  const mistakes: readonly (readonly [call: () => unknown, text: RegExp])[] = [
    [
      () => new Scheduler({ resources: { db: { permits: 2, reservd: 1 } as never } }),
      /"resources\.db\.reservd"\. Did you mean "resources\.db\.reserved"/,
    ],
    [
      () => new Scheduler({ resources: { api: { limit: 1, per: Infinity } } }),
      /"resources\.api\.per" is Infinity, expected a finite number of milliseconds/,
    ],
    [
      () => new Scheduler({ concurrency: { lop: 2 } as never }),
      /"concurrency\.lop"\. Did you mean "concurrency\.loop"/,
    ],
    [() => new Scheduler({ resources: 5 as never }), /"resources" is 5/],
    [() => scheduler().add('a', { needs: 5 as never }), /"needs" is 5, expected/],
    [() => graph().add('a', work, { needs: 5 as never }), /"needs" is 5, expected/],
    [() => job({ name: 'a', needs: 5 as never }, () => 1), /"needs" is 5, expected/],
    [
      () => scheduler().add('a', { place: 'cloud' as never }),
      /"place" is "cloud", expected 'loop'/,
    ],
    [
      () => started().remove('a', { dependents: 'detatch' as never }),
      /expected 'block' or 'detach'/,
    ],
    [() => run(graph(), { journal: 5 as never }), /"journal" is 5, expected/],
    [() => run(graph(), { signal: 5 as never }), /"signal" is 5, expected/],
    [() => run(graph(), { capacity: {} as never }), /"capacity" is .*, expected/],
    [
      () => run(graph(), { places: { lop: {} } as never }),
      /"places\.lop"\. Did you mean "places\.loop"/,
    ],
  ]
  for (const [call, text] of mistakes) {
    await assert.rejects(async () => await call(), text, call.toString())
  }
})

test('a misspelt option of a node or a job is refused with a suggestion', () => {
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
  const graph = (): Graph => new Graph()
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
