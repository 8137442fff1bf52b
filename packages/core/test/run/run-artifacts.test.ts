import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { Graph, job, run, startRun, type JobContext, type RunEvent } from '@heddle/core'
import { openArtifacts, openJournal, type ArtifactStore, type Journal } from '@heddle/core/lowlevel'
import { failsArtifact, writesArtifact } from './fixtures/jobs.ts'
import { journals as local, temporaryFolder, type OpenEmpty } from './kit.ts'

let postgres: Promise<TestDatabase> | undefined
let schemas = 0
after(async () => (await postgres)?.[Symbol.asyncDispose]())

const journals: Readonly<Record<string, OpenEmpty>> = {
  ...local,
  postgres: (t) => openPostgres(t),
  'postgres with a folder': (t) => openPostgres(t, `&artifacts=folder:${temporaryFolder(t)}`),
}

async function openPostgres(t: TestContext, more = ''): Promise<Journal> {
  postgres ??= openDatabase()
  const journal = await openJournal(`${(await postgres).address}?schema=run_${++schemas}${more}`)
  t.after(() => journal.stop())
  return journal
}

function only(work: (context: JobContext) => unknown, options: object = {}): Graph {
  const graph = new Graph()
  graph.add(
    'make',
    job({ name: 'make', ...options }, (_: void, context) => work(context)),
  )
  return graph
}

async function read(store: ArtifactStore, id: string, name: string): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of (await store.open(id, name)).bytes) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function namesOf(journal: Journal, id: string): Promise<string[]> {
  return (await journal.artifacts!.list(id)).map(({ name }) => name)
}

for (const [kind, open] of Object.entries(journals)) {
  test(`${kind}: an artifact of a loop job is kept with its run, and is removed with it`, async (t) => {
    const journal = await open(t)
    const graph = only(async ({ artifact }) => {
      const { length } = await artifact('report.html', ['<p>', Buffer.from('done')])
      return length
    })
    const result = await run(graph, { journal })
    assert.equal(result.valueOf('make'), 7)
    const id = result.run!
    const [info] = await journal.artifacts!.list(id)
    assert.deepEqual([info!.name, info!.by, info!.length], ['report.html', 'make', 7])
    assert.equal(String(await read(journal.artifacts!, id, 'report.html')), '<p>done')
    const { bytes } = await journal.prune!({ keep: 0 })
    assert.ok(bytes >= 7)
    assert.deepEqual(await namesOf(journal, id), [])
  })

  test(`${kind}: an artifact of a thread job arrives whole, and the job ends when it is written`, async (t) => {
    const journal = await open(t)
    const graph = new Graph()
    graph.add('film', writesArtifact, { input: 23 })
    const broken = graph.add('broken', failsArtifact)
    const result = await run(graph, { journal })
    assert.equal(result.ok, true)
    assert.equal(result.of(broken), 'the content ended early')
    assert.deepEqual(await namesOf(journal, result.run!), ['film.bin'])
    const expected = createHash('sha256')
    for (let at = 0; at < 23; at++) expected.update(new Uint8Array(100_000).fill(at))
    const found = await read(journal.artifacts!, result.run!, 'film.bin')
    assert.equal(createHash('sha256').update(found).digest('hex'), expected.digest('hex'))
  })

  test(`${kind}: artifacts of finished nodes are there after a resume; a node that runs again replaces its own`, async (t) => {
    const journal = await open(t)
    const calls: string[] = []
    let isBroken = true
    const graph = new Graph()
    const first = graph.add(
      'first',
      job({ name: 'first' }, async (_: void, { artifact }) => {
        calls.push('first')
        await artifact('first.txt', `call ${calls.length}`)
      }),
    )
    graph.add(
      'second',
      job({ name: 'second' }, async (_: void, { artifact }) => {
        calls.push('second')
        await artifact('second.txt', `call ${calls.length}`)
        if (isBroken) throw new Error('broken')
      }),
      { after: [first] },
    )
    const failed = await run(graph, { journal })
    assert.equal(failed.ok, false)
    assert.deepEqual(await namesOf(journal, failed.run!), ['first.txt', 'second.txt'])
    isBroken = false
    const resumed = await run(graph, { journal, resume: failed.run! })
    assert.equal(resumed.ok, true)
    assert.deepEqual(calls, ['first', 'second', 'second'])
    const store = journal.artifacts!
    assert.equal(String(await read(store, failed.run!, 'first.txt')), 'call 1')
    assert.equal(String(await read(store, failed.run!, 'second.txt')), 'call 3')
  })
}

test('sqlite: prune removes artifacts of runs whose removal was interrupted, and keeps those of existing runs', async (t) => {
  const file = path.join(temporaryFolder(t), 'runs.db')
  const ids: string[] = []
  {
    await using journal = await openJournal(`sqlite:${file}`)
    for (const text of ['one', 'two']) {
      const result = await run(
        only(({ artifact }) => artifact('a', text)),
        { journal },
      )
      ids.push(result.run!)
    }
    // The state after a kill between the rows and the folder.
    const { artifacts } = journal
    const { FolderArtifacts } = await import('../../src/artifacts/folder/folder-artifacts.ts')
    assert.ok(artifacts instanceof FolderArtifacts)
    await artifacts.put('20260101-000000-gone00', 'a', 'left behind')
    await artifacts.put('campaign-7', 'a', 'not of a run of this journal')
    await artifacts.markRemoval('20260101-000000-gone00')
    await artifacts.markRemoval(ids[1]!)
  }
  await using journal = await openJournal(`sqlite:${file}`)
  await journal.prune!({ keep: 1 })
  const folders = readdirSync(`${file}.artifacts`)
  assert.deepEqual(folders.toSorted(), [ids[1]!, 'campaign-7'])
  assert.deepEqual(readdirSync(path.join(`${file}.artifacts`, ids[1]!)).includes('removing'), false)
})

test('an artifact that a job does not wait for is written before the job counts as done', async (t) => {
  const journal = await journals['memory']!(t)
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const content = async function* (): AsyncGenerator<string> {
    begun.resolve()
    await held.promise
    yield 'late'
  }
  const started = await startRun(
    only(({ artifact }) => {
      artifact('late.txt', content()).catch(() => undefined)
      return 'returned'
    }),
    { journal },
  )
  await begun.promise
  assert.equal(started.scheduler.stats().running, 1)
  held.resolve()
  const result = await started.result
  assert.equal(result.valueOf('make'), 'returned')
  assert.deepEqual(await namesOf(journal, result.run!), ['late.txt'])
})

test('an attempt that fails drops the artifact it is writing, and the next attempt writes it again', async (t) => {
  const journal = await journals['memory']!(t)
  let isClosed = false
  const endless: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: async () => {
        isClosed = true
        return { done: true, value: undefined }
      },
    }),
  }
  const graph = only(
    async ({ artifact, attempt }) => {
      if (attempt === 1) return artifact('a', 'whole')
      artifact('a', endless).catch(() => undefined)
      throw Object.assign(new Error('again'), { retryAfter: 0 })
    },
    { retries: 1 },
  )
  const result = await run(graph, { journal, retryBaseDelay: 0 })
  assert.equal(result.ok, true)
  assert.equal(isClosed, true)
  assert.equal(String(await read(journal.artifacts!, result.run!, 'a')), 'whole')
})

test('an artifact that fails is logged, and fails a job that waits for it', async (t) => {
  const journal = await journals['memory']!(t)
  const lines: string[] = []
  const observer = (event: RunEvent): void => {
    if (event.type === 'log') lines.push(event.text)
  }
  const graph = new Graph()
  graph.add(
    'catches',
    job({ name: 'catches' }, async (_: void, { artifact }) =>
      artifact('a', 'x'.repeat(11)).catch((error: { code: string }) => error.code),
    ),
  )
  graph.add(
    'fails',
    job({ name: 'fails' }, (_: void, { artifact }) => artifact('b', 'x'.repeat(11))),
  )
  const artifacts = { quota: { bytes: 10 } }
  const result = await run(graph, { journal, observer, artifacts })
  assert.equal(result.valueOf('catches'), 'HDL_ARTIFACT_QUOTA')
  assert.equal((result.failed.get('fails') as { code: string }).code, 'HDL_ARTIFACT_QUOTA')
  assert.equal(lines.length, 2)
  assert.match(lines[0]!, /^The artifact "a" was not written: .* more than their quota of 10 bytes/)
})

test('elements of a map and steps own their artifacts; a name that another one has is refused', async (t) => {
  const journal = await journals['memory']!(t)
  const page = job({ name: 'page' }, (n: number, { artifact }) => artifact(`page ${n}`, `${n}`))
  const same = job({ name: 'same' }, (_: number, { artifact }) => artifact('page', ''))
  const graph = new Graph()
  graph.map('pages', page, { over: () => [1, 2] })
  graph.map('same', same, { over: () => [1, 2], failures: 'collect' })
  graph.add(
    'steps',
    job({ name: 'steps' }, async (_: void, { run: step }) => step(page, 3)),
  )
  const result = await run(graph, { journal })
  assert.equal(result.ok, true)
  const listed = await journal.artifacts!.list(result.run!)
  assert.deepEqual(listed.map(({ name, by }) => `${name} by ${by}`).toSorted(), [
    'page 1 by pages[0]',
    'page 2 by pages[1]',
    'page 3 by steps run:page#0',
    'page by same[0]',
  ])
  const elements = result.valueOf('same') as { ok: boolean; error?: { code?: string } }[]
  assert.deepEqual(
    elements.map(({ ok, error }) => error?.code ?? ok),
    [true, 'HDL_ARTIFACT_TAKEN'],
  )
})

test('a run without a journal has no artifacts, unless it is given a store', async () => {
  const graph = (): Graph => only(({ artifact }) => artifact('a', 'text'))
  const refused = await run(graph())
  assert.equal((refused.failed.get('make') as { code: string }).code, 'HDL_NO_ARTIFACTS')
  await using store = await openArtifacts('memory')
  const result = await run(graph(), { artifacts: { store } })
  assert.equal(result.ok, true)
  const runs: string[] = []
  for await (const [id] of store.sizes()) runs.push(id)
  assert.equal(runs.length, 1)
  assert.equal(String(await read(store, runs[0]!, 'a')), 'text')
})

test('a cancelled run writes no half artifact', async (t) => {
  const folder = temporaryFolder(t)
  const controller = new AbortController()
  const begun = Promise.withResolvers<void>()
  const content = async function* (): AsyncGenerator<string> {
    yield 'a piece'
    begun.resolve()
    await new Promise(() => {})
  }
  const file = path.join(folder, 'runs.db')
  const running = run(
    only(({ artifact }) => artifact('a', content())),
    { journal: `sqlite:${file}`, signal: controller.signal },
  )
  await begun.promise
  controller.abort()
  const result = await running
  assert.equal(result.ok, false)
  const left = path.join(`${file}.artifacts`, result.run!)
  assert.equal(existsSync(left) && readdirSync(left).length > 0, false)
})

test('content that is neither text, bytes nor a stream is refused with the line of the call', async (t) => {
  const journal = await openJournal('memory')
  t.after(() => journal.stop())
  const graph = new Graph()
  graph.add(
    'report',
    job({ name: 'report' }, (_: void, { artifact }) =>
      artifact('report.json', { rows: 3 } as unknown as string),
    ),
  )
  const result = await run(graph, { journal })
  const error = result.failed.get('report') as Error
  assert.match(error.message, /"content" is an object with rows, expected text, bytes/)
  assert.match(error.stack!, /run-artifacts\.test\.ts/)
})
