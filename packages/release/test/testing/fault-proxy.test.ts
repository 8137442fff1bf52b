import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFaultProxy } from '../../src/testing/fault-proxy.ts'
import { startStub } from '../support/servers.ts'
import { virtualKernel } from '../support/virtual-time.ts'

const document = (name: string, version: string): string =>
  JSON.stringify({ name, versions: { [version]: {} }, _attachments: { 'a.tgz': {} } })

/** A registry that accepts everything, and reports versions of `a`. */
const agreeable = (): ReturnType<typeof startStub> =>
  startStub((request, response) => {
    const packument = {
      versions: { '1.0.0': {}, '2.0.0': {} },
      time: { '1.0.0': 'then', '2.0.0': 'now' },
      'dist-tags': { latest: '2.0.0', old: '1.0.0' },
    }
    const tags = request.url?.endsWith('/dist-tags') ? packument['dist-tags'] : undefined
    request.resume().on('end', () => {
      response
        .writeHead(request.method === 'PUT' ? 201 : 200)
        .end(JSON.stringify(tags ?? packument))
    })
  })

const put = (url: string, name = 'a', version = '2.0.0'): Promise<Response> =>
  fetch(`${url}/${name.replace('/', '%2f')}`, { method: 'PUT', body: document(name, version) })

test('without rules everything goes through and is in the log', async () => {
  await using target = await agreeable()
  await using proxy = await startFaultProxy({ target: `${target.url}/base/` })
  assert.equal((await put(proxy.url, '@s/a')).status, 201)
  assert.equal((await fetch(`${proxy.url}/@s%2fa/2.0.0`)).status, 200)
  assert.deepEqual(
    target.calls.map(({ method, path }) => `${method} ${path}`),
    ['PUT /base/@s%2fa', 'GET /base/@s%2fa/2.0.0'],
  )
  const [upload, read] = proxy.log
  assert.equal(upload?.isUpload, true)
  assert.deepEqual([upload?.package, upload?.version], ['@s/a', '2.0.0'])
  assert.deepEqual([read?.package, read?.version, read?.isUpload], ['@s/a', '2.0.0', false])
  assert.deepEqual(proxy.uploads.get('@s/a@2.0.0'), { sent: 1, accepted: 1 })
})

test('a status with headers and body, a number of times, for one package', async () => {
  await using target = await agreeable()
  await using proxy = await startFaultProxy({
    target: target.url,
    rules: [
      {
        method: 'PUT',
        package: 'a',
        status: 409,
        headers: { 'x-why': 'test' },
        body: { error: 'Failed to save packument' },
        skip: 1,
        times: 2,
      },
    ],
  })
  const answers = [
    await put(proxy.url),
    await put(proxy.url),
    await put(proxy.url, 'b'),
    await put(proxy.url),
    await put(proxy.url),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 409, 201, 409, 201],
  )
  assert.equal(answers[1]?.headers.get('x-why'), 'test')
  assert.match(await answers[1].text(), /Failed to save/)
  assert.equal(target.calls.length, 3)
  assert.deepEqual(proxy.uploads.get('a@2.0.0'), { sent: 4, accepted: 2 })
})

test('FP2: after the commit the registry has it, whatever answer the client gets', async () => {
  await using target = await agreeable()
  await using proxy = await startFaultProxy({
    target: target.url,
    rules: [{ upload: true, status: 504, afterCommit: true, times: 1, body: 'gateway' }],
  })
  assert.equal((await put(proxy.url)).status, 504)
  assert.equal(target.calls.length, 1)
  assert.equal(proxy.log[0]?.answer, 504)
  assert.equal(proxy.log[0]?.registryAnswer, 201)
  assert.deepEqual(proxy.uploads.get('a@2.0.0'), { sent: 1, accepted: 1 })
})

for (const [cut, reaches] of [
  ['in-request', 0],
  ['before-answer', 1],
  ['in-answer', 1],
] as const) {
  test(`a connection that is cut ${cut} reaches the registry ${reaches} times`, async () => {
    await using target = await agreeable()
    await using proxy = await startFaultProxy({
      target: target.url,
      rules: [{ method: 'PUT', cut, times: 1 }],
    })
    await assert.rejects(async () => (await put(proxy.url)).text())
    assert.equal(target.calls.length, reaches)
    assert.equal(proxy.log[0]?.answer, 'cut')
    assert.equal((await put(proxy.url)).status, 201)
  })
}

test('an early answer, an answer in small pieces, and none at all', async () => {
  await using target = await agreeable()
  const kernel = virtualKernel()
  await using proxy = await startFaultProxy({
    target: target.url,
    kernel,
    rules: [
      { path: '/early', status: 413, early: true },
      { path: /slow$/, trickle: { bytes: 50, pause: 1000 } },
      { path: '/never', hang: true },
      { path: '/late', delay: 5000 },
    ],
  })
  assert.equal((await fetch(`${proxy.url}/early`, { method: 'PUT', body: 'x' })).status, 413)
  const slow = fetch(`${proxy.url}/slow`).then((answer) => answer.text())
  const late = fetch(`${proxy.url}/late`).then(() => kernel.clock.now())
  while (kernel.clock.pending < 2) await new Promise((done) => setTimeout(done, 1))
  await kernel.clock.advance(20_000)
  assert.match(await slow, /"latest":"2.0.0"/)
  assert.ok((await late) >= 5000)
  await assert.rejects(fetch(`${proxy.url}/never`, { signal: AbortSignal.timeout(30) }))
  assert.equal(target.calls.length, 2)
})

test('FP3: a hidden version is in no answer until its time has come', async () => {
  await using target = await agreeable()
  const kernel = virtualKernel()
  await using proxy = await startFaultProxy({
    target: target.url,
    visibleAfter: { a: 60_000 },
    kernel,
  })
  await put(proxy.url)
  const status = async (path: string): Promise<number> => (await fetch(proxy.url + path)).status
  const text = async (path: string): Promise<string> => (await fetch(proxy.url + path)).text()
  const look = async (): Promise<unknown[]> => [
    await status('/a/2.0.0'),
    await status('/a/-/a-2.0.0.tgz'),
    (await text('/a')).includes('2.0.0'),
    (await text('/-/package/a/dist-tags')).includes('2.0.0'),
    await status('/a/1.0.0'),
    (await text('/b')).includes('2.0.0'),
  ]
  assert.deepEqual(await look(), [404, 404, false, false, 200, true])
  await kernel.clock.advance(59_999)
  assert.equal(await status('/a/2.0.0'), 404)
  await kernel.clock.advance(1)
  assert.deepEqual(await look(), [200, 200, true, true, 200, true])
})

test('a rate limit counts in a window and says when there is room again', async () => {
  await using target = await agreeable()
  const kernel = virtualKernel()
  await using proxy = await startFaultProxy({
    target: target.url,
    rateLimit: { requests: 2, per: 10_000, methods: ['GET'] },
    kernel,
  })
  const get = (): Promise<Response> => fetch(`${proxy.url}/a`)
  assert.deepEqual([(await get()).status, (await get()).status], [200, 200])
  await kernel.clock.advance(4000)
  const refused = await get()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '6')
  assert.equal((await put(proxy.url)).status, 201)
  await kernel.clock.advance(10_000)
  assert.equal((await get()).status, 200)
})
