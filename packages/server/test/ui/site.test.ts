import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { readSite, type Site } from '../../src/ui/site.ts'

const script = `export const a = ${JSON.stringify('x'.repeat(500))}\n`

async function open(t: TestContext): Promise<{ readonly site: Site; readonly folder: string }> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-site-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(path.join(folder, 'assets'))
  writeFileSync(path.join(folder, 'index.html'), '<!doctype html>')
  writeFileSync(path.join(folder, 'assets/index-Bwkx8GfX.js'), script)
  return { site: await readSite(folder), folder }
}

test('D1 answers files that were there at the start and nothing else', async (t) => {
  const { site, folder } = await open(t)
  writeFileSync(path.join(folder, 'later.js'), '')
  assert.equal(site.answer('', {})?.body?.toString(), '<!doctype html>')
  assert.equal(site.answer('index.html', {})?.headers['content-type'], 'text/html; charset=utf-8')
  for (const name of [
    'later.js',
    '../site.test.ts',
    'assets',
    'assets/../index.html',
    '/etc/passwd',
  ]) {
    assert.equal(site.answer(name, {}), undefined, name)
  }
})

test('D2 sends the content security policy with every answer', async (t) => {
  const { site } = await open(t)
  for (const name of ['', 'assets/index-Bwkx8GfX.js']) {
    const policy = site.answer(name, {})!.headers['content-security-policy']!
    assert.match(policy, /default-src 'none'/)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  }
})

test('D3 lets browsers keep hashed files and ask again for the page', async (t) => {
  const { site } = await open(t)
  assert.match(site.answer('assets/index-Bwkx8GfX.js', {})!.headers['cache-control']!, /immutable/)
  const page = site.answer('', {})!
  assert.equal(page.headers['cache-control'], 'no-cache')
  const again = site.answer('', { etag: page.headers['etag'] })!
  assert.deepEqual([again.status, again.body], [304, undefined])
})

test('D4 sends gzip to clients that accept it', async (t) => {
  const { site } = await open(t)
  const zipped = site.answer('assets/index-Bwkx8GfX.js', { encodings: 'br, gzip' })!
  assert.equal(zipped.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(zipped.body!).toString(), script)
  const plain = site.answer('assets/index-Bwkx8GfX.js', {})!
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.equal(plain.body!.toString(), script)
})
