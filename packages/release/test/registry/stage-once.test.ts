import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { npmRegistry } from '../../src/registry/npm/npm-registry.ts'
import { pypiRegistry } from '../../src/registry/pypi/pypi-registry.ts'
import { stageOnce } from '../../src/registry/stage-once.ts'
import { startFaultProxy } from '../../src/testing/fault-proxy.ts'
import { packNpm, packPython, scratch } from '../support/packed.ts'
import { startStagingRegistry } from '../support/staging-registry.ts'

const latest = { distTag: 'latest' }

test('a version is staged, listed, approved, and only then published', async () => {
  await using server = await startStagingRegistry()
  await using temporary = await scratch()
  await using registry = npmRegistry({ url: server.url })
  const packed = await packNpm(temporary.folder, '@two/phase', '1.0.0')
  const result = await stageOnce(registry, packed, latest)
  assert.ok(result.is === 'staged')
  assert.equal((await registry.compare(packed)).is, 'absent')
  const [listed] = await registry.stages.list('@two/phase')
  assert.equal(listed?.id, result.staged.id)
  assert.equal(listed?.integrity, packed.artifacts[0]!.integrity)
  await registry.stages.approve(result.staged.id, { otp: '123456' })
  assert.equal((await registry.compare(packed)).is, 'ours')
  assert.deepEqual(await registry.stages.list(), [])
  assert.deepEqual(await stageOnce(registry, packed, latest), { is: 'already-published' })
})

test('a rejected version is gone', async () => {
  await using server = await startStagingRegistry()
  await using temporary = await scratch()
  await using registry = npmRegistry({ url: server.url })
  const packed = await packNpm(temporary.folder, 'no', '1.0.0')
  const result = await stageOnce(registry, packed, latest)
  assert.ok(result.is === 'staged')
  await registry.stages.reject(result.staged.id)
  assert.deepEqual(await registry.stages.list(), [])
  assert.equal((await registry.compare(packed)).is, 'absent')
  await assert.rejects(registry.stages.approve(result.staged.id), (error) =>
    isError(error, 'HDL_REGISTRY_AUTH'),
  )
})

test('asking twice stages once; a lost answer is found in the list', async () => {
  await using server = await startStagingRegistry()
  await using proxy = await startFaultProxy({
    target: server.url,
    rules: [{ method: 'POST', path: '/-/stage/package', status: 504, afterCommit: true, times: 1 }],
  })
  await using temporary = await scratch()
  await using registry = npmRegistry({ url: proxy.url })
  const packed = await packNpm(temporary.folder, 'once', '1.0.0')
  const first = await stageOnce(registry, packed, latest)
  const second = await stageOnce(registry, packed, latest)
  assert.ok(first.is === 'staged' && second.is === 'staged')
  assert.equal(first.staged.id, second.staged.id)
  assert.deepEqual(proxy.uploads.get('once@1.0.0'), { sent: 1, accepted: 1 })
})

test('an approval whose answer got lost is not an error', async () => {
  await using server = await startStagingRegistry()
  await using proxy = await startFaultProxy({
    target: server.url,
    rules: [{ path: '/approve', cut: 'before-answer', times: 1 }],
  })
  await using temporary = await scratch()
  await using registry = npmRegistry({ url: proxy.url })
  const packed = await packNpm(temporary.folder, 'approved', '1.0.0')
  const result = await stageOnce(registry, packed, latest)
  assert.ok(result.is === 'staged')
  await registry.stages.approve(result.staged.id)
  assert.equal((await registry.compare(packed)).is, 'ours')
})

test('different content that waits for approval is a conflict', async () => {
  await using server = await startStagingRegistry()
  await using temporary = await scratch()
  await using registry = npmRegistry({ url: server.url })
  await stageOnce(registry, await packNpm(temporary.folder, 'busy', '1.0.0'), latest)
  const other = await packNpm(temporary.folder, 'busy', '1.0.0', {}, { 'x.js': '' })
  await assert.rejects(stageOnce(registry, other, latest), (error) =>
    isError(error, 'HDL_VERSION_CONFLICT'),
  )
})

test('more staged versions than fit on a page are all listed', async () => {
  await using server = await startStagingRegistry()
  await using temporary = await scratch()
  await using registry = npmRegistry({ url: server.url })
  const packed = await packNpm(temporary.folder, 'many', '1.0.0')
  for (let i = 0; i < 205; i++) server.stage(`p${i}`, '1.0.0', 'sha512-x')
  await stageOnce(registry, packed, latest)
  assert.equal((await registry.stages.list()).length, 206)
})

test('a kind of registry without staging reports that', async () => {
  await using registry = pypiRegistry({ url: 'http://127.0.0.1:1' })
  await using temporary = await scratch()
  const packed = await packPython(temporary.folder, 'p', '1.0.0')
  await assert.rejects(stageOnce(registry, packed, latest), (error) =>
    isError(error, 'HDL_REGISTRY_UNSUPPORTED'),
  )
})
