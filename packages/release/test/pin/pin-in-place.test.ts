import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import fc from 'fast-check'
import { pinInPlace, type PinnedManifests } from '../../src/pin/pin-in-place.ts'
import { planFromDisk, planned, Tree } from '../plan-kit.ts'
import { manifestNames, WildTree } from './wild-tree.ts'

const five = manifestNames.length

function pin(tree: WildTree, ...names: string[]): Promise<PinnedManifests> {
  const plan = tree.plan()
  const packages = names.length === 0 ? plan.packages.values() : names.map((n) => planned(plan, n))
  return pinInPlace(plan, packages, { journalFolder: tree.journal })
}

const listeners = (): number[] =>
  ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((event) => process.listenerCount(event))

test('S60, S64, S71: pinned while the scope lasts, byte-identical after it', async () => {
  using tree = new WildTree()
  const before = listeners()
  {
    await using pinned = await pin(tree)
    assert.equal(pinned.files.length, five)
    assert.equal(tree.pinned(), five)
    assert.match(tree.read('packages/crlf/package.json'), /\r\n {4}"bom": {3}"1\.1\.0",\r\n/)
    assert.match(tree.read('packages/bom/package.json'), /^\ufeff.*"tabs": "1\.1\.0"/)
    const snake = tree.read('packages/snake/pyproject.toml')
    assert.match(snake, /^# a comment\n/)
    assert.match(snake, /version = "0\.5\.0" # kept\n/)
    assert.match(snake, /\t"Py_Thon\[a,b\]==0\.5\.0; os_name == 'nt'", # why\n\t"httpx",\n/)
    assert.match(tree.read('packages/py-thon/pyproject.toml'), /\r\nx = \['snake==0\.5\.0'\]$/)
    assert.equal(fs.statSync(tree.at('packages/py-thon/pyproject.toml')).mode & 0o777, 0o600)
  }
  assert.equal(tree.identical(), five)
  assert.deepEqual(tree.traces(), [])
  assert.deepEqual(listeners(), before)
})

test('S64: byte-identical after a throw; restoring twice is harmless', async () => {
  using tree = new WildTree()
  let pins: PinnedManifests | undefined
  await assert.rejects(async () => {
    await using pinned = await pin(tree)
    pins = pinned
    throw new Error('the build failed')
  }, /the build failed/)
  await pins!.restore()
  assert.equal(tree.identical(), five)
  assert.deepEqual(tree.traces(), [])
})

test('S62, N3: a manifest without internal ranges is not touched', async () => {
  using tree = new Tree()
  const file = tree.writeJson('packages/a/package.json', { name: 'a', version: '1.0.0' })
  const { ino } = fs.statSync(file)
  const plan = planFromDisk(tree)
  await using pinned = await pinInPlace(plan, plan.packages.values(), {
    journalFolder: tree.at('journal'),
  })
  assert.deepEqual(pinned.files, [])
  assert.equal(fs.statSync(file).ino, ino)
  assert.ok(!tree.names().some((name) => name.endsWith('.original')))
})

test('S65, HF1: nested pins of different files end in either order', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const) {
    using tree = new WildTree()
    const before = listeners()
    const pins = [await pin(tree, 'tabs', 'snake'), await pin(tree, 'crlf')]
    assert.equal(tree.pinned(), 3)
    await pins[order[0]]!.restore()
    assert.equal(tree.pinned(), order[0] === 0 ? 1 : 2)
    await pins[order[1]]!.restore()
    assert.equal(tree.identical(), five)
    assert.deepEqual(tree.traces(), [])
    assert.deepEqual(listeners(), before)
  }
})

test('G, HF1: overlapping pins of one file: the last one restores it', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const) {
    using tree = new WildTree()
    const pins = [await pin(tree, 'tabs', 'crlf'), await pin(tree, 'crlf', 'bom')]
    await pins[order[0]]!.restore()
    assert.equal(tree.pinned(), 2)
    assert.match(tree.read('packages/crlf/package.json'), /"1\.1\.0"/)
    await pins[order[1]]!.restore()
    assert.equal(tree.identical(), five)
  }
})

test('HF1, HF3: pins that come and go at the same time all see a pinned file and leave the original', async () => {
  using tree = new WildTree()
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      await using _pinned = await pin(tree, 'crlf')
      assert.match(tree.read('packages/crlf/package.json'), /"version": "1\.1\.0"/)
    }),
  )
  assert.equal(tree.identical(), five)
  assert.deepEqual(tree.traces(), [])
})

test('HF2: a pin to other versions is refused and changes nothing', async () => {
  using tree = new WildTree()
  await using _first = await pin(tree, 'crlf')
  const plan = planFromDisk(tree, { crlf: '9.0.0', bom: '9.0.0' })
  const content = tree.read('packages/crlf/package.json')
  await assert.rejects(
    pinInPlace(plan, [planned(plan, 'bom'), planned(plan, 'crlf')], {
      journalFolder: tree.journal,
    }),
    { code: 'HDL_LOCKED' },
  )
  assert.equal(tree.read('packages/crlf/package.json'), content)
  assert.match(tree.read('packages/bom/package.json'), /"version": "1\.0\.0"/)
})

test('S68, F: an edit while pinned is kept, and so is the original; all others are restored', async () => {
  using tree = new WildTree()
  const pinned = await pin(tree)
  const original = '{\r\n  "name": "crlf"'
  const edited = '{ "name": "crlf", "version": "1.0.0", "edited": true }'
  tree.write('packages/crlf/package.json', edited)
  await assert.rejects(pinned.restore(), (error) => {
    assert.ok(isError(error, 'HDL_RESTORE_CONFLICT'))
    assert.equal(error.details.path, tree.at('packages/crlf/package.json'))
    assert.ok(fs.readFileSync(error.details.kept, 'utf8').startsWith(original))
    return true
  })
  assert.equal(tree.read('packages/crlf/package.json'), edited)
  assert.equal(tree.identical(), five - 1)
  await pinned.restore()
  // The folder is free again.
  await (await pin(tree, 'tabs')).restore()
})

test('S70, N2: missing, invalid or local: a typed error, nothing pinned, nothing left', async () => {
  const faults: [code: string, (tree: WildTree) => void][] = [
    ['HDL_STORE_FAILED', (tree) => fs.rmSync(tree.at('packages/tabs/package.json'))],
    ['HDL_BAD_MANIFEST', (tree) => void tree.write('packages/tabs/package.json', '{ "name": ')],
    ['HDL_BAD_MANIFEST', (tree) => void tree.write('elsewhere/real.toml', '[project\n')],
    ['HDL_BAD_MANIFEST', (tree) => void tree.write('elsewhere/real.toml', Buffer.from([0xff]))],
    [
      'HDL_LOCAL_RANGE',
      (tree) =>
        void tree.write('packages/tabs/package.json', '{ "dependencies": { "x": "link:../x" } }'),
    ],
  ]
  for (const [code, damage] of faults) {
    using tree = new WildTree()
    const plan = tree.plan()
    damage(tree)
    const before = tree.names().map((name) => [name, fs.readFileSync(tree.at(name), 'hex')])
    await assert.rejects(
      pinInPlace(plan, plan.packages.values(), { journalFolder: tree.journal }),
      { code },
    )
    const after = tree
      .names()
      .filter((name) => !name.startsWith('journal/registry.lock'))
      .map((name) => [name, fs.readFileSync(tree.at(name), 'hex')])
    assert.deepEqual(after, before)
  }
})

/** A small file system of its own; the reason where it cannot be made. */
function mountSmall(folder: string): string | undefined {
  fs.mkdirSync(folder)
  if (process.getuid?.() !== 0) return 'only the superuser may mount'
  const { status, stderr } = spawnSync(
    'mount',
    ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder],
    { encoding: 'utf8' },
  )
  return status === 0 ? undefined : `no tmpfs: ${stderr?.trim()}`
}

/** Moves the file behind the link of one of the manifests. */
function moveTarget(tree: WildTree, target: string): void {
  fs.copyFileSync(tree.at('elsewhere/real.toml'), target)
  fs.rmSync(tree.at('packages/snake/pyproject.toml'))
  fs.symlinkSync(target, tree.at('packages/snake/pyproject.toml'))
}

/** Takes all the room there is. */
function fill(file: string): void {
  const filler = fs.openSync(file, 'w')
  try {
    for (;;) fs.writeSync(filler, Buffer.alloc(4096))
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
  } finally {
    fs.closeSync(filler)
  }
}

const outside = (tree: WildTree): string[] =>
  tree.traces().filter((name) => !name.startsWith('small/'))

test('S70, N2: an unwritable file gives a typed error, the others are restored', async (t) => {
  using tree = new WildTree()
  const folder = tree.at('small')
  const isRoot = process.getuid?.() === 0
  const problem = mountSmall(folder)
  // The superuser may write everywhere except on read-only mounts.
  if (isRoot && problem !== undefined) return t.skip(problem)
  try {
    moveTarget(tree, tree.at('small/real.toml'))
    if (isRoot) spawnSync('mount', ['-o', 'remount,ro', folder])
    else fs.chmodSync(folder, 0o500)
    await assert.rejects(pin(tree), { code: 'HDL_STORE_FAILED', message: /EROFS|EACCES/ })
    assert.equal(tree.identical(), five)
    assert.deepEqual(fs.readdirSync(folder), ['real.toml'])
    assert.deepEqual(outside(tree), [])
  } finally {
    if (isRoot) spawnSync('umount', [folder])
    else fs.chmodSync(folder, 0o700)
  }
})

test('S70, N2: a full disk gives a typed error, the others are restored', async (t) => {
  using tree = new WildTree()
  const problem = mountSmall(tree.at('small'))
  if (problem !== undefined) return t.skip(problem)
  try {
    moveTarget(tree, tree.at('small/real.toml'))
    fill(tree.at('small/filler'))
    await assert.rejects(pin(tree), { code: 'HDL_STORE_FAILED', message: /ENOSPC/ })
    assert.equal(tree.identical(), five)
    assert.deepEqual(fs.readdirSync(tree.at('small')).sort(), ['filler', 'real.toml'])
    assert.deepEqual(outside(tree), [])
  } finally {
    spawnSync('umount', [tree.at('small')])
  }
})

test('S70, N2, I1: a full disk under the journal gives a typed error, nothing is pinned', async (t) => {
  using tree = new WildTree()
  const problem = mountSmall(tree.at('small'))
  if (problem !== undefined) return t.skip(problem)
  try {
    const plan = tree.plan()
    const pinThere = (): Promise<PinnedManifests> =>
      pinInPlace(plan, plan.packages.values(), { journalFolder: tree.at('small/journal') })
    // Its lock is there from an earlier pin, or not.
    for (const hasJournal of [false, true]) {
      if (hasJournal) await (await pinThere()).restore()
      fill(tree.at('small/filler'))
      await assert.rejects(pinThere(), { code: 'HDL_STORE_FAILED' })
      assert.equal(tree.identical(), five)
      assert.deepEqual(outside(tree), [])
      fs.rmSync(tree.at('small/filler'))
    }
    await (await pinThere()).restore()
    assert.equal(tree.identical(), five)
  } finally {
    spawnSync('umount', [tree.at('small')])
  }
})

test('whatever the manifests: pinned and restored they are byte-identical', async () => {
  const range = fc.constantFrom(
    'workspace:*',
    'workspace:^',
    '^1.0.0',
    '1.0.0',
    '*',
    'npm:p0@^1.0.0',
  )
  const group = fc.dictionary(fc.constantFrom('p0', 'p1', 'express', 'a b'), range)
  const manifest = fc.record({
    groups: fc.dictionary(
      fc.constantFrom(
        'dependencies',
        'peerDependencies',
        'devDependencies',
        'optionalDependencies',
      ),
      group,
    ),
    indent: fc.constantFrom('', ' ', '\t', '    '),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    mark: fc.constantFrom('', '\ufeff'),
    end: fc.constantFrom('', '\n', '\r\n\r\n'),
    more: fc.json(),
  })
  await fc.assert(
    fc.asyncProperty(fc.tuple(manifest, manifest), async (sketches) => {
      using tree = new Tree()
      const files = sketches.map(({ groups, indent, lineEnd, mark, end, more }, index) => {
        const value = {
          name: `p${index}`,
          version: '1.0.0',
          ...groups,
          more: JSON.parse(more) as unknown,
        }
        // Only npm's own words are in the way of a package that is not in the workspace.
        const text = JSON.stringify(value, undefined, indent).replaceAll(
          /"(express|a b)":( ?)"workspace:[*^]"/g,
          '"$1":$2"1"',
        )
        const bytes = Buffer.from(mark + text.replaceAll('\n', lineEnd) + end)
        return { file: tree.write(`packages/p${index}/package.json`, bytes), bytes }
      })
      const plan = planFromDisk(tree, { p0: '1.5.0', p1: '2.0.0' })
      const pinned = await pinInPlace(plan, plan.packages.values(), {
        journalFolder: tree.at('journal'),
      })
      for (const { file } of files) {
        const found = JSON.parse(fs.readFileSync(file, 'utf8').replace(/^\ufeff/, '')) as Record<
          string,
          Record<string, string>
        >
        for (const value of Object.values({ ...found['dependencies'] })) {
          assert.doesNotMatch(value, /workspace:/)
        }
      }
      await pinned.restore()
      for (const { file, bytes } of files) assert.deepEqual(fs.readFileSync(file), bytes)
    }),
    { numRuns: 25 },
  )
})
