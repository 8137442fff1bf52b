/** Real processes that end in every way while five manifests are pinned. */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { pinInPlace } from '../../src/pin/pin-in-place.ts'
import { Tree } from '../plan-kit.ts'
import { manifestNames, WildTree } from './wild-tree.ts'

const five = manifestNames.length
const onWindows = process.platform === 'win32' && 'Windows has no such signals'

function start(tree: WildTree, ...ending: string[]): ChildProcess {
  const program = path.join(import.meta.dirname, 'fixtures/pinner.ts')
  return fork(program, [tree.path, ...ending], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
}

async function startPinned(tree: WildTree, ending: string): Promise<ChildProcess> {
  const child = start(tree, ending)
  const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as unknown[]
  assert.equal(message, 'pinned')
  assert.equal(tree.pinned(), five)
  return child
}

async function restart(tree: WildTree): Promise<{ restored: string[]; untouched: string[] }> {
  const child = start(tree, 'restart')
  const ended = once(child, 'exit')
  const [message] = (await Promise.race([once(child, 'message'), ended])) as unknown[]
  await ended
  return message as { restored: string[]; untouched: string[] }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`A, B: ${signal}: 5 of 5 byte-identical at once`, { skip: onWindows }, async () => {
    using tree = new WildTree()
    const child = await startPinned(tree, signal)
    child.kill(signal)
    const [code, by] = (await once(child, 'exit')) as unknown[]
    assert.deepEqual([code, by], [null, signal])
    assert.equal(tree.identical(), five)
    assert.deepEqual(tree.traces(), [])
  })
}

for (const ending of ['exit', 'throw', 'reject']) {
  test(`A, B: ended by ${ending}: 5 of 5 byte-identical at once`, async () => {
    using tree = new WildTree()
    const child = await startPinned(tree, ending)
    child.send('go')
    const [code] = (await once(child, 'exit')) as unknown[]
    assert.equal(code, ending === 'exit' ? 7 : 1)
    assert.equal(tree.identical(), five)
    assert.deepEqual(tree.traces(), [])
  })
}

test('S67, C, N1: SIGKILL, then a restart: 5 of 5 byte-identical before anything else', async () => {
  using tree = new WildTree()
  const child = await startPinned(tree, 'kill')
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(tree.pinned(), five)
  const { restored } = await restart(tree)
  assert.equal(restored.length, five)
  assert.equal(tree.identical(), five)
  assert.deepEqual(tree.traces(), [])
})

test('S68, N1: edited after a SIGKILL: reported once, both versions kept, the others restored', async () => {
  using tree = new WildTree()
  const plan = tree.plan()
  const child = await startPinned(tree, 'kill')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const edited = tree.read('packages/tabs/package.json').replace('1.1.0', '1.1.1')
  tree.write('packages/tabs/package.json', edited)
  const options = { journalFolder: tree.journal }
  await assert.rejects(pinInPlace(plan, [], options), (error) => {
    assert.ok(isError(error, 'HDL_RESTORE_CONFLICT'))
    assert.match(fs.readFileSync(error.details.kept, 'utf8'), /"version": "1\.0\.0"/)
    return true
  })
  assert.equal(tree.identical(), five - 1)
  assert.equal(tree.read('packages/tabs/package.json'), edited)
  await (await pinInPlace(plan, [], options)).restore()
})

test('S67, C: killed ahead of its operations on files, one after the other, while it recovers', async () => {
  using tree = new WildTree()
  const plan = tree.plan()
  const child = await startPinned(tree, 'kill')
  child.kill('SIGKILL')
  await once(child, 'exit')
  using saved = new Tree()
  const copy = { recursive: true, verbatimSymlinks: true }
  fs.cpSync(tree.path, saved.path, copy)
  let killed = 0
  // Every point of one file is tried by the tests of RestoreRegistry; here some of all five.
  for (let at = 1; ; at += 29) {
    // In the same place each time, because the journal names its files.
    fs.rmSync(tree.path, { recursive: true })
    fs.cpSync(saved.path, tree.path, copy)
    const again = start(tree, 'restart', String(at))
    const [, by] = (await once(again, 'exit')) as unknown[]
    if (by !== 'SIGKILL') break
    killed++
    await (await pinInPlace(plan, [], { journalFolder: tree.journal })).restore()
    assert.equal(tree.identical(), five, `killed ahead of operation ${at}`)
    assert.deepEqual(tree.traces(), [], `killed ahead of operation ${at}`)
  }
  assert.ok(killed >= 3, `killed only ${killed} times`)
  assert.equal(tree.identical(), five)
})
