import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { writeAtomic } from '../../src/files/atomic-write.ts'
import { Folder, interceptFiles, Program } from './support.ts'

test('a new file is made, and nothing else', async () => {
  using folder = new Folder()
  await writeAtomic(folder.at('state.json'), '{}')
  assert.equal(folder.read('state.json'), '{}')
  assert.deepEqual(folder.names(), ['state.json'])
})

test('bytes are written unchanged', async () => {
  using folder = new Folder()
  const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x0d, 0x0a, 0x00, 0xff])
  await writeAtomic(folder.at('raw'), bytes)
  assert.deepEqual(fs.readFileSync(folder.at('raw')), bytes)
})

test(
  'an existing file keeps its mode, whatever the umask',
  { skip: process.platform === 'win32' },
  async () => {
    using folder = new Folder()
    for (const mode of [0o600, 0o640, 0o755, 0o444]) {
      const file = folder.write(`file-${mode}`, 'old')
      fs.chmodSync(file, mode)
      await writeAtomic(file, 'new')
      assert.equal(fs.readFileSync(file, 'utf8'), 'new')
      assert.equal(fs.statSync(file).mode & 0o7777, mode)
    }
  },
)

test(
  'an existing file keeps its owner',
  { skip: process.getuid?.() !== 0 && 'only the superuser can give files away' },
  async () => {
    using folder = new Folder()
    const file = folder.write('file', 'old')
    fs.chownSync(file, 4321, 1234)
    fs.chmodSync(file, 0o4750)
    await writeAtomic(file, 'new')
    const { uid, gid, mode } = fs.statSync(file)
    assert.deepEqual({ uid, gid, mode: mode & 0o7777 }, { uid: 4321, gid: 1234, mode: 0o4750 })
  },
)

test(
  'a symbolic link stays one, and its target is replaced',
  { skip: process.platform === 'win32' },
  async () => {
    using folder = new Folder()
    folder.write('deep/target', 'old')
    fs.symlinkSync('deep/target', folder.at('link'))
    await writeAtomic(folder.at('link'), 'new')
    assert.equal(fs.readlinkSync(folder.at('link')), 'deep/target')
    assert.equal(folder.read('deep/target'), 'new')
    assert.deepEqual(folder.names(), ['deep/target', 'link'])
  },
)

test('writers at the same time: the file is whole and of one of them, and nothing is left', async () => {
  using folder = new Folder()
  const contents = Array.from({ length: 20 }, (_, i) => String(i).repeat(10_000))
  await Promise.all(contents.map((content) => writeAtomic(folder.at('file'), content)))
  assert.ok(contents.includes(folder.read('file')))
  assert.deepEqual(folder.names(), ['file'])
})

test('a failure is reported with its cause', async () => {
  using folder = new Folder()
  const inNoFolder = writeAtomic(folder.at('missing/file'), 'new')
  await assert.rejects(inNoFolder, (error) => {
    assert.ok(isError(error, 'HDL_STORE_FAILED'))
    assert.match(error.message, /missing\/file could not be written: ENOENT/)
    return true
  })
})

test('a failure at any step leaves the old or the new content, and no temporary file', async () => {
  using folder = new Folder()
  for (let at = 1; ; at++) {
    const file = folder.write('file', 'old')
    let isReached = false
    const undo = await interceptFiles((count) => {
      if (count !== at) return
      isReached = true
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    })
    let failed = false
    try {
      await writeAtomic(file, 'new')
    } catch (error) {
      failed = true
      assert.ok(isError(error, 'HDL_STORE_FAILED'), String(error))
    } finally {
      undo()
    }
    assert.ok(['old', 'new'].includes(folder.read('file')))
    if (!failed) assert.equal(folder.read('file'), 'new')
    assert.deepEqual(folder.names(), ['file'])
    if (!isReached) {
      assert.ok(at > 5, 'every step was tried')
      return
    }
    assert.ok(failed, `a failure of step ${at} was not told`)
  }
})

test('killed at any step: the file is old or new, whole', async () => {
  using folder = new Folder()
  const seen = new Set<string>()
  for (let at = 1; ; at++) {
    folder.write('file', 'old')
    await using program = new Program('atomic-writer.ts', folder.at('file'), String(at))
    const { signal } = await program.ended
    const content = folder.read('file')
    assert.ok(content === 'old' || content === 'new', JSON.stringify(content))
    seen.add(content)
    if (signal === null) break
  }
  assert.deepEqual([...seen], ['old', 'new'])
})
