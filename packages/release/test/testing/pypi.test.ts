import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { pypiRegistry } from '../../src/registry/pypi/pypi-registry.ts'
import { startPypi } from '../../src/testing/pypi.ts'
import { packPython, scratch } from '../support/packed.ts'

const content = Buffer.from('the bytes of a wheel')
const sha256 = createHash('sha256').update(content).digest('hex')

async function post(
  url: string,
  changes: Record<string, string | undefined> = {},
  bytes = content,
  fileName = 'demo_pkg-1.0.0-py3-none-any.whl',
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const fields: Record<string, string | undefined> = {
    ':action': 'file_upload',
    protocol_version: '1',
    metadata_version: '2.4',
    name: 'Demo.Pkg',
    version: '1.0.0',
    filetype: 'bdist_wheel',
    sha256_digest: sha256,
    requires_python: '>=3.10',
    ...changes,
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) form.append(name, value)
  }
  form.append('content', new Blob([bytes]), fileName)
  const answer = await fetch(`${url}/legacy/`, { method: 'POST', body: form, headers })
  return { status: answer.status, text: await answer.text() }
}

test('an upload by a foreign client is found under any spelling of its name', async () => {
  await using pypi = await startPypi()
  assert.equal((await post(pypi.url)).status, 200)
  const release = (await (await fetch(`${pypi.url}/pypi/demo-pkg/1.0.0/json`)).json()) as {
    info: { requires_python: string }
    urls: { filename: string; url: string; digests: { sha256: string } }[]
  }
  assert.equal(release.info.requires_python, '>=3.10')
  assert.equal(release.urls[0]?.digests.sha256, sha256)
  const file = await fetch(release.urls[0].url)
  assert.deepEqual(Buffer.from(await file.arrayBuffer()), content)
  assert.equal((await fetch(`${pypi.url}/pypi/demo-pkg/json`)).status, 200)
  for (const page of [
    '/pypi/demo-pkg/2.0.0/json',
    '/pypi/other/1.0.0/json',
    '/nothing',
    '/files/x',
  ]) {
    assert.equal((await fetch(pypi.url + page)).status, 404, page)
  }
})

test('PY1: the same bytes again change nothing, different bytes are refused', async () => {
  await using pypi = await startPypi()
  await post(pypi.url)
  assert.equal((await post(pypi.url)).status, 200)
  assert.equal(pypi.files.length, 1)
  const other = await post(pypi.url, { sha256_digest: undefined }, Buffer.from('others'))
  assert.equal(other.status, 400)
  assert.match(other.text, /already exists/)
  assert.equal(pypi.files[0]?.sha256, sha256)
})

test('PY2: wrong digests and missing fields are refused', async () => {
  await using pypi = await startPypi()
  const wrong: Record<string, string | undefined>[] = [
    { sha256_digest: '0'.repeat(64) },
    { md5_digest: '0'.repeat(32) },
    { version: undefined },
    { name: undefined },
    { metadata_version: undefined },
    { filetype: 'sdist' },
    { ':action': undefined },
  ]
  for (const changes of wrong) {
    assert.equal((await post(pypi.url, changes)).status, 400, JSON.stringify(changes))
  }
  assert.equal((await post(pypi.url, {}, Buffer.alloc(0))).status, 400)
  assert.deepEqual(pypi.files, [])
})

test('a token is asked for, if there is one', async () => {
  await using pypi = await startPypi({ token: 'pypi-right' })
  const basic = (token: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`__token__:${token}`).toString('base64')}`,
  })
  assert.equal((await post(pypi.url)).status, 401)
  assert.equal((await post(pypi.url, {}, content, 'a-1.whl', basic('pypi-wrong'))).status, 403)
  assert.equal((await post(pypi.url, {}, content, 'a-1.whl', basic('pypi-right'))).status, 200)
})

test('the simple index is served as HTML and as JSON', async () => {
  await using pypi = await startPypi()
  await post(pypi.url)
  const index = await (await fetch(`${pypi.url}/simple/`)).text()
  assert.match(index, /<a href="\/simple\/demo-pkg\/">demo-pkg<\/a>/)
  const page = await (await fetch(`${pypi.url}/simple/demo-pkg/`)).text()
  assert.match(page, new RegExp(`#sha256=${sha256}" data-requires-python="&gt;=3.10"`))
  const accept = 'application/vnd.pypi.simple.v1+json'
  const asJson = async (at: string): Promise<unknown> =>
    (await fetch(pypi.url + at, { headers: { accept } })).json()
  assert.deepEqual(await asJson('/simple/'), {
    meta: { 'api-version': '1.0' },
    projects: [{ name: 'demo-pkg' }],
  })
  const { files } = (await asJson('/simple/demo-pkg/')) as { files: { hashes: object }[] }
  assert.deepEqual(files[0]?.hashes, { sha256 })
  assert.equal((await fetch(`${pypi.url}/simple/other/`)).status, 404)
})

const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0

test('pip installs what our client uploaded', { skip: !hasPip && 'there is no pip' }, async () => {
  await using pypi = await startPypi()
  await using temporary = await scratch()
  await using registry = pypiRegistry({ url: pypi.url })
  await registry.upload(await packPython(temporary.folder, 'demo-pkg', '1.0.0'), {
    distTag: 'latest',
  })
  const target = path.join(temporary.folder, 'installed')
  const options = ['--isolated', '--no-deps', '--no-cache-dir', '--disable-pip-version-check']
  const where = ['--index-url', `${pypi.url}/simple/`, '--target', target]
  const run = promisify(execFile)
  await run('python3', ['-m', 'pip', 'install', ...options, ...where, 'Demo.Pkg==1.0.0'], {
    env: { PATH: process.env['PATH'], HOME: temporary.folder },
  })
  const installed = await readFile(path.join(target, 'demo_pkg', '__init__.py'), 'utf8')
  assert.equal(installed, 'version = "1.0.0"\n')
})
