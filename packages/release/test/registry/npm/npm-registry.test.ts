import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { open, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { HeddleError, isError } from '@heddle/core'
import { NpmConfig } from '../../../src/registry/npm/npmrc.ts'
import { npmRegistry } from '../../../src/registry/npm/npm-registry.ts'
import { publishOnce } from '../../../src/registry/reconcile.ts'
import { startFaultProxy } from '../../../src/testing/fault-proxy.ts'
import { startVerdaccio, type Verdaccio } from '../../../src/testing/verdaccio.ts'
import { packNpm, scratch } from '../../support/packed.ts'
import { startStub } from '../../support/servers.ts'
import { inVirtualTime, virtualKernel } from '../../support/virtual-time.ts'

let verdaccio: Verdaccio
let temporary: Awaited<ReturnType<typeof scratch>>
before(async () => {
  verdaccio = await startVerdaccio()
  temporary = await scratch()
})
after(async () => {
  await verdaccio.close()
  await temporary[Symbol.asyncDispose]()
})

const latest = { distTag: 'latest' }

test('without a token and without the identity of a build, the public registry is known to refuse', async () => {
  const accountAt = async (url: string, token?: string): Promise<string> => {
    await using registry = npmRegistry({ url, env: {}, ...(token !== undefined && { token }) })
    return (await registry.account()).is
  }
  assert.equal(await accountAt('https://registry.npmjs.org/'), 'anonymous')
  assert.equal(await accountAt('http://127.0.0.1:9/'), 'unknown', 'others may want none')
})

test('a version goes up and comes back: hashes, bytes, readme, tag', async () => {
  await using registry = npmRegistry({ url: verdaccio.url, token: 'anybody' })
  const packed = await packNpm(
    temporary.folder,
    '@round/trip',
    '1.0.0',
    {},
    { 'README.md': '# Hi' },
  )
  assert.deepEqual(await registry.compare(packed), { is: 'absent' })
  assert.equal(await registry.read('@round/trip', '1.0.0'), undefined)
  await registry.upload(packed, { distTag: 'next' })
  const standing = await registry.compare(packed)
  assert.ok(standing.is === 'ours')
  assert.deepEqual([...standing.found.integrity.values()], [packed.artifacts[0]!.integrity])
  const archive = Buffer.from(await (await fetch(standing.found.urls[0]!)).arrayBuffer())
  assert.equal(archive.length, packed.artifacts[0]!.size)
  assert.equal((await registry.tags('@round/trip')).get('next'), '1.0.0')
  const packument = (await (await fetch(`${verdaccio.url}/@round%2ftrip`)).json()) as {
    versions: Record<string, { readme?: string }>
  }
  assert.match(JSON.stringify(packument), /# Hi/)
})

test('the registry gets a manifest in the shape that npm sends', async () => {
  await using registry = npmRegistry({ url: verdaccio.url, token: 'anybody' })
  const written = { bin: './cli.js', repository: 'github:some/where' }
  const packed = await packNpm(temporary.folder, '@shape/of', '1.0.0', written)
  await registry.upload(packed, latest)
  const answer = await fetch(`${verdaccio.url}/@shape%2fof/1.0.0`)
  const { bin, repository } = (await answer.json()) as Record<string, unknown>
  assert.deepEqual(bin, { of: 'cli.js' })
  assert.deepEqual(repository, { type: 'git', url: 'git+https://github.com/some/where.git' })
})

test('N-PM: different content under the same version is recognized by SHA-512, scoped names included', async () => {
  await using registry = npmRegistry({ url: `${verdaccio.url}/`, token: 'anybody' })
  const first = await packNpm(temporary.folder, '@s/taken', '1.0.0')
  await registry.upload(first, latest)
  const second = await packNpm(temporary.folder, '@s/taken', '1.0.0', {}, { 'other.js': '' })
  assert.deepEqual(await registry.compare(second), {
    is: 'different',
    expected: second.artifacts[0]!.integrity,
    found: first.artifacts[0]!.integrity,
  })
  await assert.rejects(registry.upload(second, latest), (error) =>
    isError(error, 'HDL_VERSION_CONFLICT'),
  )
})

test('a registry that knows only SHA-1 is compared by that', async () => {
  const packed = await packNpm(temporary.folder, 'old', '1.0.0')
  const { sha1 } = packed.artifacts[0]!
  let shasum = sha1
  await using stub = await startStub((_, response) => {
    const dist = { shasum, tarball: 'http://r.example/old/-/old-1.0.0.tgz' }
    response.end(JSON.stringify({ version: '1.0.0', dist }))
  })
  await using registry = npmRegistry({ url: stub.url })
  assert.equal((await registry.compare(packed)).is, 'ours')
  shasum = '0'.repeat(40)
  assert.equal((await registry.compare(packed)).is, 'different')
})

test('scenario 92: a registry under a path works', async () => {
  await using stub = await startStub((_, response) => void response.writeHead(404).end('{}'))
  await using registry = npmRegistry({ url: `${stub.url}/deep/path/` })
  await registry.read('@a/b', '1.0.0')
  assert.deepEqual(
    stub.calls.map((call) => call.path),
    ['/deep/path/@a%2fb/1.0.0', '/deep/path/@a%2fb'],
  )
  assert.equal(registry.url, `${stub.url}/deep/path/`)
})

test('a registry without documents of single versions is read by its packuments', async () => {
  const packed = await packNpm(temporary.folder, 'whole', '1.0.0')
  const { integrity } = packed.artifacts[0]!
  const dist = { integrity: `sha1-xx ${integrity}`, tarball: 'http://r.example/-/whole-1.0.0.tgz' }
  await using stub = await startStub((request, response) => {
    if (request.url !== '/whole') response.writeHead(404).end('{}')
    else response.end(JSON.stringify({ versions: { '1.0.0': { version: '1.0.0', dist } } }))
  })
  await using registry = npmRegistry({ url: stub.url })
  assert.equal((await registry.compare(packed)).is, 'ours')
  assert.equal((await registry.compare(packed)).is, 'ours')
  assert.deepEqual(
    stub.calls.map((call) => call.path),
    ['/whole/1.0.0', '/whole', '/whole'],
    'it is asked for only once',
  )
})

test('a registry with documents of single versions is read by them once it has shown one', async () => {
  const old = { versions: { '0.9.0': { version: '0.9.0', dist: {} } } }
  await using stub = await startStub((request, response) => {
    if (request.url === '/old') response.end(JSON.stringify(old))
    else if (request.url === '/old/0.9.0') response.end(JSON.stringify(old.versions['0.9.0']))
    else response.writeHead(404).end('{}')
  })
  await using registry = npmRegistry({ url: stub.url })
  assert.equal(await registry.read('old', '1.0.0'), undefined)
  assert.equal(await registry.read('new', '1.0.0'), undefined)
  assert.equal(await registry.read('old', '1.0.0'), undefined)
  assert.equal((await registry.read('old', '0.9.0'))?.version, '0.9.0')
  assert.deepEqual(
    stub.calls.map((call) => call.path),
    ['/old/1.0.0', '/old', '/old/0.9.0', '/new/1.0.0', '/old/1.0.0', '/old/0.9.0'],
  )
})

for (const [what, document] of [
  ['an empty object', {}],
  ['an error', { error: 'not found' }],
  ['the document of another version', { version: '0.9.0', dist: { integrity: 'sha512-x' } }],
] as const) {
  test(`a read that is answered with ${what} is decided by the packument`, async () => {
    const versions: Record<string, object> = { '0.9.0': { version: '0.9.0', dist: {} } }
    await using stub = await startStub((request, response) => {
      response.end(JSON.stringify(request.url === '/a' ? { versions } : document))
    })
    await using registry = npmRegistry({ url: stub.url })
    assert.equal(await registry.read('a', '1.0.0'), undefined)
    versions['1.0.0'] = { version: '1.0.0', dist: {} }
    assert.equal((await registry.read('a', '1.0.0'))?.version, '1.0.0')
  })
}

test('dist-tags that are not an object of versions are an answer that cannot be read', async () => {
  for (const body of ['null', '[]', '{"latest":1}']) {
    await using stub = await startStub((_, response) => void response.end(body))
    const kernel = virtualKernel()
    await using registry = npmRegistry({ url: stub.url, kernel })
    const refused = assert.rejects(registry.tags('a'), { code: 'HDL_REGISTRY_UNAVAILABLE' })
    await inVirtualTime(kernel.clock, () => stub.active() > 0, refused)
  }
})

test('the document of another package is not taken for the version that was asked for', async () => {
  const dist = { integrity: 'sha512-x', tarball: 'http://r.example/b.tgz' }
  await using stub = await startStub((request, response) => {
    if (request.url === '/@s%2fa') response.writeHead(404).end('{}')
    else response.end(JSON.stringify({ name: 'a', version: '1.0.0', dist }))
  })
  await using registry = npmRegistry({ url: stub.url })
  assert.equal(await registry.read('@s/a', '1.0.0'), undefined)
  assert.equal((await registry.read('a', '1.0.0'))?.version, '1.0.0')
})

test('an answer that was cut off is read again, and not an error of the release', async () => {
  const whole = JSON.stringify({
    name: 'cut',
    version: '1.0.0',
    dist: { integrity: 'sha512-x', tarball: 'http://r.example/cut.tgz' },
  })
  await using stub = await startStub((request, _response, call) => {
    const body = call === 1 ? whole.slice(0, -1) : whole
    request.socket.end(`HTTP/1.0 200 OK\r\n\r\n${body}`)
  })
  const kernel = virtualKernel()
  await using registry = npmRegistry({ url: stub.url, kernel })
  const read = registry.read('cut', '1.0.0')
  const found = await inVirtualTime(kernel.clock, () => stub.active() > 0, read)
  assert.equal(found?.version, '1.0.0')
  assert.equal(stub.calls.length, 2)
})

test('a registry without an address for dist-tags has them in its packuments', async () => {
  const packument = { 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': {} } }
  await using stub = await startStub((request, response) => {
    if (request.url === '/a') response.end(JSON.stringify(packument))
    else response.writeHead(404).end('{}')
  })
  await using registry = npmRegistry({ url: stub.url })
  assert.deepEqual([...(await registry.tags('a'))], [['latest', '1.0.0']])
  assert.deepEqual([...(await registry.tags('b'))], [])
})

test('an archive whose address is not HTTP is different, with its address', async () => {
  await using registry = npmRegistry({ url: 'http://r.example' })
  const packed = await packNpm(temporary.folder, 'elsewhere', '1.0.0')
  const found = {
    version: '1.0.0',
    integrity: new Map([['x.tgz', packed.artifacts[0]!.integrity]]),
    urls: [] as string[],
  }
  for (const url of ['file:///somewhere/x.tgz', 'http://[']) {
    const standing = await registry.archives({ ...found, urls: [url] }, packed)
    assert.ok(standing.is === 'different')
    assert.ok(standing.found.includes(url), standing.found)
  }
})

test('a version without a hash is compared by its archive', async () => {
  const packed = await packNpm(temporary.folder, 'hashless', '1.0.0')
  let archive: Buffer = await readFile(packed.artifacts[0]!.file)
  let hashes = {}
  await using stub = await startStub((request, response) => {
    if (request.url === '/x.tgz') response.end(archive)
    else response.end(JSON.stringify({ version: '1.0.0', dist: { tarball: '/x.tgz', ...hashes } }))
  })
  await using registry = npmRegistry({ url: stub.url })
  assert.equal((await registry.compare(packed)).is, 'ours')
  hashes = { integrity: '', shasum: '' }
  assert.equal((await registry.compare(packed)).is, 'ours', 'with fields that are empty')
  archive = Buffer.from('other bytes')
  assert.equal((await registry.compare(packed)).is, 'different')
})

test('a token that no request can carry is refused without a request', async () => {
  let requests = 0
  await using stub = await startStub((_request, response) => {
    requests++
    response.end('{"username":"somebody"}')
  })
  for (const token of ['secret\n', 'se\ncret', 'sécret\u2028']) {
    await using registry = npmRegistry({ url: stub.url, token })
    const account = await registry.account()
    assert.ok(account.is === 'refused', token)
    assert.match(account.problem, /has a character that no request can carry/)
    assert.ok(!inspect(account).includes('cret'), 'it is a secret all the same')
  }
  assert.equal(requests, 0)
})

test('a large packument is read in a thread', async () => {
  const packed = await packNpm(temporary.folder, 'huge', '1.0.0')
  const { integrity } = packed.artifacts[0]!
  const versions: Record<string, object> = {}
  for (let i = 0; i < 3000; i++)
    versions[`0.0.${i}`] = { dist: { integrity: `sha512-${i}` }, x: 'y'.repeat(300) }
  versions['1.0.0'] = { version: '1.0.0', dist: { integrity }, deprecated: 'no' }
  let body = JSON.stringify({ versions })
  assert.ok(body.length > 1_000_000)
  const puts: string[] = []
  await using stub = await startStub(async (request, response) => {
    let text = ''
    for await (const piece of request) text += String(piece)
    if (request.method === 'PUT') {
      puts.push(text)
      body = text
    }
    response.end(body)
  })
  await using registry = npmRegistry({ url: stub.url, reads: 'packument' })
  const standing = await registry.compare(packed)
  assert.ok(standing.is === 'ours')
  assert.equal(standing.found.deprecated, 'no')
  await registry.deprecate('huge', '1.0.0', 'very much no')
  assert.equal(puts.length, 1)
  assert.match(puts[0]!, /"deprecated":"very much no"/)
})

test('a page that claims success is not an answer', async () => {
  await using stub = await startStub((_, response) => void response.end('<html>Log in</html>'))
  const kernel = virtualKernel()
  await using registry = npmRegistry({ url: stub.url, kernel })
  const refused = assert.rejects(registry.read('a', '1.0.0'), (error) =>
    isError(error, 'HDL_REGISTRY_UNAVAILABLE'),
  )
  await inVirtualTime(kernel.clock, () => stub.active() > 0, refused)
})

test('an upload that is redirected is sent once, and the error names the target', async () => {
  const location = 'https://moved.example/a'
  await using stub = await startStub((request, response) => {
    request.resume()
    if (request.method === 'PUT') response.writeHead(308, { location }).end()
    else response.writeHead(404).end('{}')
  })
  await using registry = npmRegistry({ url: stub.url })
  const packed = await packNpm(temporary.folder, 'moved', '1.0.0')
  await assert.rejects(publishOnce(registry, packed, latest), (error) => {
    assert.ok(isError(error, 'HDL_REGISTRY_UNSUPPORTED'))
    return error.message.includes(`redirects to ${location}`)
  })
  assert.equal(stub.calls.filter(({ method }) => method === 'PUT').length, 1)
})

test('N-PM: reads that are refused are errors and not "absent"', async () => {
  for (const [status, code] of [
    [401, 'HDL_REGISTRY_AUTH'],
    [403, 'HDL_REGISTRY_AUTH'],
    [400, 'HDL_PACKAGE_REFUSED'],
  ] as const) {
    await using stub = await startStub((_, response) => void response.writeHead(status).end())
    await using registry = npmRegistry({ url: stub.url })
    await assert.rejects(registry.read('a', '1.0.0'), (error) => isError(error, code))
    assert.equal(stub.calls.length, 1)
  }
})

test('a tag can be set, moved and removed, and each of these twice', async () => {
  await using registry = npmRegistry({ url: verdaccio.url, token: 'anybody' })
  for (const version of ['1.0.0', '2.0.0']) {
    await registry.upload(await packNpm(temporary.folder, 'tagged', version), latest)
  }
  await registry.setTag('tagged', 'stable', '1.0.0')
  await registry.setTag('tagged', 'latest', '1.0.0')
  await registry.setTag('tagged', 'latest', '1.0.0')
  assert.deepEqual(Object.fromEntries(await registry.tags('tagged')), {
    latest: '1.0.0',
    stable: '1.0.0',
  })
  await registry.setTag('tagged', 'stable', undefined)
  await registry.setTag('tagged', 'stable', undefined)
  assert.deepEqual(Object.fromEntries(await registry.tags('tagged')), { latest: '1.0.0' })
  assert.equal((await registry.tags('no-such-package')).size, 0)
})

test('a version is deprecated, and that is taken back', async () => {
  await using registry = npmRegistry({ url: verdaccio.url, token: 'anybody' })
  await registry.upload(await packNpm(temporary.folder, 'dated', '1.0.0'), latest)
  await registry.deprecate('dated', '1.0.0', 'use 2')
  assert.equal((await registry.read('dated', '1.0.0'))?.deprecated, 'use 2')
  await registry.deprecate('dated', '1.0.0', 'use 2')
  await registry.deprecate('dated', '1.0.0', '')
  assert.equal((await registry.read('dated', '1.0.0'))?.deprecated, undefined)
  await assert.rejects(registry.deprecate('no-such-package', '1.0.0', 'x'), (error) =>
    isError(error, 'HDL_REGISTRY_AUTH'),
  )
})

test('a tag and a deprecation survive a lost answer and a write that met another', async () => {
  await using proxy = await startFaultProxy({ target: verdaccio.url })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody' })
  await registry.upload(await packNpm(temporary.folder, 'unlucky', '1.0.0'), latest)
  const body = { error: 'Failed to save packument' }
  proxy.rules.add({ method: 'PUT', path: 'dist-tags', status: 409, body, times: 1 })
  await registry.setTag('unlucky', 'next', '1.0.0')
  assert.equal((await registry.tags('unlucky')).get('next'), '1.0.0')
  proxy.rules.add({ method: 'PUT', package: 'unlucky', cut: 'before-answer', times: 1 })
  await registry.deprecate('unlucky', '1.0.0', 'gone')
  assert.equal((await registry.read('unlucky', '1.0.0'))?.deprecated, 'gone')
  const puts = proxy.log.filter(({ method, path: at }) => method === 'PUT' && at === '/unlucky')
  assert.equal(puts.length, 2, 'the upload and one deprecation')
})

test('the token goes to its registry, and into no message', async () => {
  await using stub = await startStub((_, response) => {
    response.writeHead(403).end('{"error":"forbidden"}')
  })
  const { host } = new URL(stub.url)
  const config = new NpmConfig(new Map([[`//${host}/:_authToken`, 'hush-hush']]))
  await using registry = npmRegistry({ url: stub.url, config })
  const packed = await packNpm(temporary.folder, 'quiet', '1.0.0')
  await assert.rejects(registry.upload(packed, latest), (error) => {
    assert.doesNotMatch(inspect(error, { depth: 9 }), /hush-hush/)
    return isError(error, 'HDL_REGISTRY_AUTH')
  })
  assert.equal(stub.calls[0]?.headers.authorization, 'Bearer hush-hush')
  assert.doesNotMatch(inspect(registry, { depth: 9 }), /hush-hush/)
})

test('a one-time password is sent along', async () => {
  await using stub = await startStub((request, response) => {
    request.resume().on('end', () => response.writeHead(201).end('{}'))
  })
  await using registry = npmRegistry({ url: stub.url })
  const packed = await packNpm(temporary.folder, 'otp', '1.0.0')
  await registry.upload(packed, { ...latest, otp: '123456' })
  assert.equal(stub.calls[0]?.headers['npm-otp'], '123456')
})

test('a signal ends an upload while its body is on the way', async () => {
  const arrived = Promise.withResolvers<void>()
  await using stub = await startStub(
    (request) => void request.once('data', () => arrived.resolve()),
  )
  await using registry = npmRegistry({ url: stub.url })
  // Incompressible, so that it does not fit into the buffers of a socket.
  const noise = randomBytes(12_000_000).toString('base64')
  const packed = await packNpm(temporary.folder, 'long', '1.0.0', {}, { 'noise.txt': noise })
  const abort = new AbortController()
  const upload = registry.upload(packed, { ...latest, signal: abort.signal })
  await arrived.promise
  abort.abort(new Error('enough'))
  await assert.rejects(upload, (error) => isError(error, 'HDL_CANCELLED'))
})

test('an archive that changed after it was packed never becomes a version', async () => {
  await using proxy = await startFaultProxy({ target: verdaccio.url })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody' })
  const noise = randomBytes(600_000).toString('base64')
  const packed = await packNpm(temporary.folder, 'changed', '1.0.0', {}, { 'noise.txt': noise })
  const { file, size } = packed.artifacts[0]!
  const handle = await open(file, 'r+')
  await handle.write(Buffer.from([0, 1, 2]), 0, 3, size - 4)
  await handle.close()
  await assert.rejects(publishOnce(registry, packed, latest), (error) =>
    isError(error, 'HDL_ARTIFACT_CHANGED'),
  )
  assert.equal(proxy.uploads.get('changed@1.0.0'), undefined, 'no request came to its end')
  assert.equal(await registry.read('changed', '1.0.0'), undefined)
})

test('a provenance bundle is passed on, if it is one of this archive', async () => {
  const bodies: string[] = []
  await using stub = await startStub(async (request, response) => {
    let text = ''
    for await (const piece of request) text += String(piece)
    bodies.push(text)
    response.writeHead(201).end('{}')
  })
  await using registry = npmRegistry({ url: stub.url })
  const packed = await packNpm(temporary.folder, '@signed/one', '1.0.0')
  const { integrity } = packed.artifacts[0]!
  const sha512 = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
  const write = async (subject: unknown): Promise<string> => {
    const payload = Buffer.from(JSON.stringify({ subject })).toString('base64')
    const mediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json'
    const file = path.join(temporary.folder, 'bundle.json')
    await writeFile(file, JSON.stringify({ mediaType, dsseEnvelope: { payload } }))
    return file
  }
  const name = 'pkg:npm/%40signed/one@1.0.0'
  const right = await write([{ name, digest: { sha512 } }])
  await registry.upload(packed, { ...latest, provenanceFile: right })
  const sent = JSON.parse(bodies[0]!) as { _attachments: Record<string, { data: string }> }
  assert.match(sent._attachments['@signed/one-1.0.0.sigstore']!.data, /dsseEnvelope/)
  for (const subject of [
    [{ name, digest: { sha512: '00' } }],
    [{ name: 'pkg:npm/other@1.0.0', digest: { sha512 } }],
    [],
    undefined,
  ]) {
    const provenanceFile = await write(subject)
    await assert.rejects(registry.upload(packed, { ...latest, provenanceFile }), (error) =>
      isError(error, 'HDL_BAD_OPTION'),
    )
  }
  const provenanceFile = path.join(temporary.folder, 'no-such-file')
  await assert.rejects(
    registry.upload(packed, { ...latest, provenanceFile }),
    (error) => error instanceof HeddleError && error.code === 'HDL_BAD_OPTION',
  )
  assert.equal(bodies.length, 1)
})

test('staging: a registry without it says so, and nothing is published', async () => {
  await using registry = npmRegistry({ url: verdaccio.url, token: 'anybody' })
  const packed = await packNpm(temporary.folder, 'unstaged', '1.0.0')
  await assert.rejects(registry.upload(packed, { ...latest, stage: true }), (error) =>
    isError(error, 'HDL_REGISTRY_UNSUPPORTED'),
  )
  await assert.rejects(registry.stages.list(), (error) =>
    isError(error, 'HDL_REGISTRY_UNSUPPORTED'),
  )
  assert.equal((await registry.compare(packed)).is, 'absent')
})
