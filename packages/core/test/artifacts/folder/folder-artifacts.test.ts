import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { FolderArtifacts } from '../../../src/artifacts/folder/folder-artifacts.ts'
import { openArtifacts } from '../../../src/artifacts/open-artifacts.ts'
import { defaultQuota } from '../../../src/artifacts/artifact-store.ts'
import { systemKernel } from '../../../src/kernel/kernel.ts'
import { artifactStoreConformance } from '../../../src/testing/artifact-store-conformance.ts'

interface Folder extends AsyncDisposable {
  readonly path: string
}

async function makeFolder(): Promise<Folder> {
  const made = await mkdtemp(path.join(os.tmpdir(), 'heddle-artifacts-'))
  return {
    path: made,
    [Symbol.asyncDispose]: () => rm(made, { recursive: true, force: true }),
  }
}

function storeIn(folder: string): FolderArtifacts {
  return new FolderArtifacts(folder, { kernel: systemKernel, quota: defaultQuota })
}

artifactStoreConformance('folder', async () => {
  const folder = await makeFolder()
  return {
    open: (quota = {}) => openArtifacts(`folder:${path.join(folder.path, 'made')}`, { quota }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
})

test('F4: everything is inside of the folder of the run', async () => {
  await using folder = await makeFolder()
  const inside = path.join(folder.path, 'artifacts')
  const store = storeIn(inside)
  for (const name of ['../a', '/b', 'c/../../d', '.hidden', 'plot.svg']) {
    await store.put('20261117-120000-abcdef', name, name)
  }
  assert.deepEqual(await readdir(folder.path), ['artifacts'])
  assert.deepEqual(await readdir(inside), ['20261117-120000-abcdef'])
  const files = await readdir(path.join(inside, '20261117-120000-abcdef'))
  assert.equal(files.length, 6)
  assert.ok(
    files.every((file) => /^(index\.jsonl|[a-z]+[a-z_.-]*-[0-9a-f]{16}(\.[a-z]+)?)$/.test(file)),
  )
})

test('F1: files of a killed process are removed by the next writer, and the torn end of the list is repaired', async () => {
  await using folder = await makeFolder()
  await storeIn(folder.path).put('run-1', 'a', 'one')
  const run = path.join(folder.path, 'run-1')
  await writeFile(path.join(run, '4711-k3f9q2.draft'), 'half')
  await writeFile(path.join(run, 'b-0123456789abcdef'), 'renamed, and not listed yet')
  await appendFile(path.join(run, 'index.jsonl'), '{"run":"run-1","name":"b","len')
  const reader = storeIn(folder.path)
  assert.deepEqual(
    (await reader.list('run-1')).map(({ name }) => name),
    ['a'],
  )
  const next = storeIn(folder.path)
  await next.put('run-1', 'c', 'three')
  assert.equal((await readdir(run)).length, 3)
  assert.deepEqual(
    (await reader.list('run-1')).map(({ name }) => name),
    ['a', 'c'],
  )
})

test('F1: the list is rewritten when most of its lines are outdated', async () => {
  await using folder = await makeFolder()
  const store = storeIn(folder.path)
  await store.put('run-1', 'a', 'one')
  const index = path.join(folder.path, 'run-1', 'index.jsonl')
  const line = await readFile(index, 'utf8')
  await appendFile(index, line.repeat(1_001))
  const next = storeIn(folder.path)
  await next.put('run-1', 'b', 'two')
  assert.equal((await readFile(index, 'utf8')).split('\n').length, 3)
  assert.equal((await next.list('run-1')).length, 2)
})

test('F5: an artifact that was changed or cut on the disk is damaged', async () => {
  await using folder = await makeFolder()
  const store = storeIn(folder.path)
  await store.put('run-1', 'a.txt', 'right')
  const run = path.join(folder.path, 'run-1')
  const file = path.join(
    run,
    (await readdir(run)).find((each) => each.endsWith('.txt'))!,
  )
  const readAll = async (): Promise<void> => {
    for await (const _ of (await store.open('run-1', 'a.txt')).bytes) continue
  }
  await readAll()
  await writeFile(file, 'wrong')
  await assert.rejects(readAll(), { code: 'HDL_ARTIFACT_DAMAGED' })
  await truncate(file, 2)
  await assert.rejects(readAll(), { code: 'HDL_ARTIFACT_DAMAGED' })
  await rm(file)
  await assert.rejects(readAll(), { code: 'HDL_ARTIFACT_DAMAGED' })
})

test('F4: a list that was tampered with does not lead out of its folder', async () => {
  await using folder = await makeFolder()
  const store = storeIn(folder.path)
  await store.put('run-1', 'a', 'one')
  const index = path.join(folder.path, 'run-1', 'index.jsonl')
  const entry = JSON.parse(await readFile(index, 'utf8')) as object
  for (const file of ['../../secret', '/etc/passwd', '..']) {
    await writeFile(index, `${JSON.stringify({ ...entry, file })}\n`)
    assert.deepEqual(await storeIn(folder.path).list('run-1'), [])
  }
})

test('a removal that was interrupted is found again', async () => {
  await using folder = await makeFolder()
  const store = storeIn(folder.path)
  await store.put('run-1', 'a', 'one')
  await store.put('Run 2', 'a', 'one')
  await store.markRemoval('run-1')
  await store.markRemoval('Run 2')
  await store.markRemoval('run-3')
  const next = storeIn(folder.path)
  assert.deepEqual((await next.unfinishedRemovals()).toSorted(), ['Run 2', 'run-1'])
  await next.unmarkRemoval('Run 2')
  await next.remove('run-1')
  assert.deepEqual(await next.unfinishedRemovals(), [])
  assert.equal((await next.list('Run 2')).length, 1)
})

test('lists of runs that are not written any more are forgotten', async () => {
  await using folder = await makeFolder()
  const store = storeIn(folder.path)
  for (let run = 0; run < 70; run++) await store.put(`run-${run}`, 'a', `${run}`)
  assert.equal((await store.list('run-0')).length, 1)
  await store.put('run-0', 'b', 'two')
  assert.equal((await store.list('run-0')).length, 2)
})
