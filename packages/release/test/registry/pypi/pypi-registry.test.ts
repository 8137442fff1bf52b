import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { isError } from '@heddle/core'
import { pypiRegistry } from '../../../src/registry/pypi/pypi-registry.ts'
import { publishOnce } from '../../../src/registry/reconcile.ts'
import { waitVisible } from '../../../src/registry/visible.ts'
import { startFaultProxy } from '../../../src/testing/fault-proxy.ts'
import { startPypi } from '../../../src/testing/pypi.ts'
import { startBuildService } from '../../support/build-service.ts'
import { packPython, scratch } from '../../support/packed.ts'
import { startStub } from '../../support/servers.ts'
import { inVirtualTime, largest, virtualKernel } from '../../support/virtual-time.ts'

const any = { distTag: 'latest' }

test('a wheel and an sdist go up with their metadata and come back with their hashes', async () => {
  await using pypi = await startPypi({ token: 'pypi-secret' })
  await using temporary = await scratch()
  await using registry = pypiRegistry({ url: pypi.url, token: 'pypi-secret' })
  const packed = await packPython(temporary.folder, 'Demo.Package', '1.0.0')
  assert.deepEqual(await registry.compare(packed), { is: 'absent' })
  await registry.upload(packed, any)
  const standing = await registry.compare(packed)
  assert.ok(standing.is === 'ours')
  assert.deepEqual(
    [...standing.found.integrity.values()],
    packed.artifacts.map(({ sha256 }) => `sha256-${sha256}`),
  )
  const [wheel, sdist] = pypi.files
  assert.deepEqual([wheel?.fileType, sdist?.fileType], ['bdist_wheel', 'sdist'])
  assert.equal(wheel?.fields.get('pyversion')?.[0], 'py3')
  assert.equal(sdist?.fields.get('pyversion')?.[0], 'source')
  for (const file of pypi.files) {
    const field = (name: string): readonly string[] | undefined => file.fields.get(name)
    assert.deepEqual(field('name'), ['Demo.Package'])
    assert.deepEqual(field('metadata_version'), ['2.4'])
    assert.deepEqual(field('requires_dist'), ['anyio>=4; python_version < "3.14"', 'idna'])
    assert.equal(field('classifiers')?.length, 2)
    assert.deepEqual(field('project_urls'), ['Home, https://example.org/'])
    assert.deepEqual(field('provides_extra'), ['fast'])
    assert.match(field('description')![0]!, /^# Title[^]*ü\.\n$/)
  }
})

test('partial: a missing sdist is sent, the wheel is not sent again', async () => {
  await using pypi = await startPypi()
  await using proxy = await startFaultProxy({ target: pypi.url })
  await using temporary = await scratch()
  await using registry = pypiRegistry({ url: proxy.url })
  const packed = await packPython(temporary.folder, 'half', '1.0.0')
  await registry.upload({ ...packed, artifacts: packed.artifacts.slice(0, 1) }, any)
  assert.deepEqual(await registry.compare(packed), {
    is: 'partial',
    missing: ['half-1.0.0.tar.gz'],
  })
  const { outcome } = await publishOnce(registry, packed, any)
  assert.equal(outcome, 'accepted')
  assert.equal((await registry.compare(packed)).is, 'ours')
  assert.deepEqual(proxy.uploads.get('half@1.0.0'), { sent: 2, accepted: 2 }, 'one for each file')
})

test('scenario 88: the second of two files gets lost, or its answer: each is taken once', async () => {
  for (const fault of [
    { status: 504, afterCommit: true },
    { status: 503 },
    { cut: 'before-answer' },
  ] as const) {
    const kernel = virtualKernel(largest)
    await using pypi = await startPypi()
    await using proxy = await startFaultProxy({
      target: pypi.url,
      rules: [{ upload: true, skip: 1, times: 1, ...fault }],
      kernel,
    })
    await using temporary = await scratch()
    await using registry = pypiRegistry({ url: proxy.url, kernel })
    const packed = await packPython(temporary.folder, 'lossy', '1.0.0')
    const work = publishOnce(registry, packed, { ...any, kernel })
    const { outcome } = await inVirtualTime(kernel.clock, () => proxy.active > 0, work)
    assert.match(outcome, /^(published|accepted)$/)
    assert.equal(proxy.uploads.get('lossy@1.0.0')?.accepted, 2, JSON.stringify(fault))
    assert.equal(pypi.files.length, 2)
  }
})

test('different content under a file name is a conflict', async () => {
  await using pypi = await startPypi()
  await using temporary = await scratch()
  await using others = await scratch()
  await using registry = pypiRegistry({ url: pypi.url })
  await registry.upload(await packPython(others.folder, 'taken', '1.0.0', 'theirs'), any)
  const packed = await packPython(temporary.folder, 'taken', '1.0.0', 'ours')
  const standing = await registry.compare(packed)
  assert.ok(standing.is === 'different')
  assert.match(standing.expected, /^taken-1\.0\.0-py3-none-any\.whl sha256-/)
  await assert.rejects(publishOnce(registry, packed, any), (error) =>
    isError(error, 'HDL_VERSION_CONFLICT'),
  )
  await assert.rejects(registry.upload(packed, any), (error) =>
    isError(error, 'HDL_VERSION_CONFLICT'),
  )
})

test('scenario 94: a Python package is waited for until both files show', async () => {
  const kernel = virtualKernel()
  await using pypi = await startPypi()
  await using proxy = await startFaultProxy({ target: pypi.url, visibleAfter: 60_000, kernel })
  await using temporary = await scratch()
  await using registry = pypiRegistry({ url: proxy.url, kernel })
  const packed = await packPython(temporary.folder, 'slow', '1.0.0')
  await registry.upload(packed, any)
  const work = waitVisible(registry, packed, { kernel })
  const seen = await inVirtualTime(kernel.clock, () => proxy.active > 0, work, 200)
  assert.equal(seen.is, 'visible')
  assert.ok(seen.waited >= 59_000)
})

test('no tags, no deprecation: reported clearly, with the alternative', async () => {
  await using registry = pypiRegistry({ url: 'https://pypi.org' })
  assert.equal((await registry.tags()).size, 0)
  await assert.rejects(registry.deprecate('Demo.Package', '1.0.0'), (error) => {
    assert.ok(isError(error, 'HDL_REGISTRY_UNSUPPORTED'))
    assert.match(
      error.message,
      /https:\/\/pypi\.org\/manage\/project\/demo-package\/release\/1\.0\.0\//,
    )
    return true
  })
  await assert.rejects(registry.setTag(), (error) => isError(error, 'HDL_REGISTRY_UNSUPPORTED'))
})

test('scenario 91: a wrong token is not tried again and stays secret', async () => {
  await using pypi = await startPypi({ token: 'pypi-right' })
  await using temporary = await scratch()
  await using registry = pypiRegistry({ url: pypi.url, token: 'pypi-wrong' })
  const packed = await packPython(temporary.folder, 'secret', '1.0.0')
  await assert.rejects(publishOnce(registry, packed, any), (error) => {
    assert.doesNotMatch(inspect(error, { depth: 9 }), /pypi-wrong|cHlwaS13cm9uZ/)
    return isError(error, 'HDL_REGISTRY_AUTH')
  })
  assert.doesNotMatch(inspect(registry, { depth: 9 }), /pypi-wrong/)
})

test('scenario 92: names are written as addresses want them, under any base path', async () => {
  await using stub = await startStub((_, response) => void response.writeHead(404).end())
  await using registry = pypiRegistry({ url: `${stub.url}/root//` })
  await registry.read('My__Odd.-Name', '1.0+local')
  assert.equal(stub.calls[0]?.path, '/root/pypi/my-odd-name/1.0%2Blocal/json')
})

test('trusted publishing: the identity of a build is exchanged for a token', async () => {
  await using service = await startBuildService()
  const seen: string[] = []
  await using stub = await startStub((request, response) => {
    const { method = '', url = '', headers } = request
    const answer = (value: object): void => void response.end(JSON.stringify(value))
    request.resume()
    seen.push(`${method} ${url} ${headers.authorization ?? ''}`.trimEnd())
    if (url === '/_/oidc/audience') return answer({ audience: 'pypi' })
    if (url === '/_/oidc/mint-token') return answer({ token: 'pypi-minted' })
    return answer({})
  })
  await using registry = pypiRegistry({ url: stub.url, env: service.env })
  await using temporary = await scratch()
  await registry.upload(await packPython(temporary.folder, 'trusted', '1.0.0'), any)
  const basic = Buffer.from('__token__:pypi-minted').toString('base64')
  assert.deepEqual(
    [...new Set(seen)],
    ['GET /_/oidc/audience', 'POST /_/oidc/mint-token', `POST /legacy/ Basic ${basic}`],
  )
})

test('without a token and without the identity of a build, the public index refuses before a build', async () => {
  const accountAt = async (url: string, more: object = {}): Promise<string> => {
    await using registry = pypiRegistry({ url, ...more })
    return (await registry.account()).is
  }
  assert.equal(await accountAt('https://pypi.org'), 'anonymous')
  assert.equal(await accountAt('https://test.pypi.org'), 'anonymous')
  assert.equal(await accountAt('https://pypi.org', { token: 'secret' }), 'unknown')
  assert.equal(await accountAt('http://127.0.0.1:9', {}), 'unknown', 'others may want none')
})
